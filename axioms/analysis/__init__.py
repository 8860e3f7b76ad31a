"""What is certain of a program before anything is solved: reads that can return one thing only, and what nothing depends on.

Imports `events`; `axioms.program.changes` applies it.
"""
