"""Why an outcome is there, or is not: what explanations claim, computed from executions and from the model that was used.

A claim (`claims`) is a value that is evaluated on the execution before it is said; words are made of claims in `ptxmm.report`
and nowhere here. Imports `encode` and `witness`, and no words.
"""
