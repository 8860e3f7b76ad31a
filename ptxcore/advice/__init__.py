"""Advice for authors of concurrent code: PTX that is legal and rarely means what its author wanted.

functions -> graph, values, accesses -> waits -> one file for each kind of advice, which `advising` calls.
What is advised stands in `ptxcore.findings`, by code. May import syntax, the tables of the ISA, and the loops of
`ptxcore.machine.ir`.
"""
