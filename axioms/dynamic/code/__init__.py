"""What the code of a kernel says without a run: liveness, joins, linear forms, what depends on contents.

Imports `core`; every folder behind it may import it.
"""
