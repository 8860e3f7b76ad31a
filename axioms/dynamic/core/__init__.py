"""What every run needs: findings, vector clocks, shadow memory, and which accesses commute.

Imports `ptxcore` only; every other folder of `axioms.dynamic` may import it.
"""
