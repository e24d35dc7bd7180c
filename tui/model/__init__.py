"""The arithmetic: pure functions and frozen dataclasses on numbers."""
