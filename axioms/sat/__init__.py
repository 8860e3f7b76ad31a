"""Formulas: literals and clauses, relations over events as literals, acyclicity, bit-vectors, and the solvers behind them.

Knows nothing of programs. Imports `cat` for bitsets alone.
"""
