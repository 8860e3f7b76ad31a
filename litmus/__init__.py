"""Litmus tests as data: formats, families, the library that ships. Knows nothing of solvers."""
