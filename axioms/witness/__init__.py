"""Executions as values: candidates and their check, races, torn reads, results, and threads that are blocked.

Imports `events`, `sync` and `axioms.program`, never an encoding.
"""
