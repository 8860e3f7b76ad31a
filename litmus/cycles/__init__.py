"""Litmus tests from cycles of relaxations, in the edge language of diy, with what PTX adds to it.

    >>> from litmus.cycles import generate
    >>> [test.name for test in generate("PodWW.rel.gpu Rfe PodRR.acq.gpu Fre")]
    ['MP+rel.gpu+acq.gpu']

The edges are those of `litmus.cycles.edges`.
"""

from __future__ import annotations

from litmus.cycles.edges import Edge
from litmus.cycles.generator import cross, enumerate, generate

__all__ = ["Edge", "cross", "enumerate", "generate"]
