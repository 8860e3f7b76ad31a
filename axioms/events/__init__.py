"""What threads do, as events: memory and its cells, barriers, copies, fences, launches, and static relations.

Imports `cat` and `sat`. `axioms.program` puts it together.
"""
