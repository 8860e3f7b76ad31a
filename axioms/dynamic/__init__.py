"""One run of a whole launch, watched, that stands for all executions: see docs/whole-launches.

The threads of a launch are executed together, on numbers. Vector clocks say what is ordered before what by base causality
order (PTX ISA 9.0, section 8.9.5), a shadow memory which accesses nothing orders. Where every conflicting pair is ordered and
all that threads meet at is determinate, every execution has the events, the order and the values of this run. Imports `ptxcore`
only.
"""
