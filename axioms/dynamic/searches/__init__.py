"""Searches in tables by compare-and-swap: who finds which cell is open, what is found is not.

Imports `tickets` and what stands before it.
"""
