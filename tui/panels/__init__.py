"""Thin widgets: they keep no numbers and open no files."""
