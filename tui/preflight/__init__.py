"""Before the arithmetic: can this drafter be attached at all, and is it the right one?"""
