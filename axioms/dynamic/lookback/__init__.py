"""Flags and values that several writes may answer, all with one effect: decoupled look-back and what is like it.

Imports `one_run` and what stands before it.
"""
