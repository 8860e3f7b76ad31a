"""Repairs and weakenings: smallest sets of edits with which every check holds, each proven by the checker.

sites (what may be changed at a statement, and at what cost) -> search (by counterexample) -> findings -> words
"""
