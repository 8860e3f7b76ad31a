"""Edits of CUDA C++ that compile to edits of PTX: found by what stands at the lines, proven by compiling and checking.

code (statements of a text) -> spellings (orders, scopes, fences by name) -> candidates (edits of one place) -> proof
"""
