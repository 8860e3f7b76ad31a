"""The passes: what is done to threads and programs so that they are decided sooner. Each is sound by itself, whatever the
others do, and can be left out.

Threads are made ready by those of `ptxcore.machine`; programs go through `REDUCTIONS`, functions from one program to the next;
formulas are made smaller by those of `axioms.encode`. The argument for the soundness of each stands at the head of its file.
Without a pass the answers are the same, as far as there are any: a loop that was a wait may be cut at its bound then, and what
took a second may take hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from axioms.cat.model import Model
from axioms.models.options import WITHOUT
from axioms.program import Program, with_constant_reads
from ptxcore.isa.effect_kinds import BARRIER, kinds_with
from ptxcore.records import NamedTuple

#: Programs of so many events at most are decided as they are: that takes less time than to find out what is constant.
_SMALL = 64


class Pass(NamedTuple):
    """`home`: the file that has it, and its argument. `says` completes the sentence "it ..."."""

    name: str
    home: str
    says: str


def constant_reads(program: Program, model: Model) -> Program:
    """The program with what reads are known to return put in, and without what nothing depends on then."""
    if program.size <= _SMALL or program.kinds.isdisjoint({BARRIER, *kinds_with("updates")}):
        return program
    from axioms.analysis.constant_reads import follows_causality

    return with_constant_reads(program, slices="slicing" not in program.off) if follows_causality(model) else program


#: Those over programs, in their order.
REDUCTIONS: dict[str, Callable[[Program, Model], Program]] = {"constant-reads": constant_reads}

#: All, in the order in which they are done.
PASSES = (
    Pass("mem2reg", "ptxcore/machine/lower/mem2reg.py", "makes registers of places on the stack"),
    Pass("impossible-assertions", "ptxcore/machine/explore/assertions.py", "drops assertions that cannot fail"),
    Pass("dead-code", "ptxcore/machine/loops/dead_code.py", "drops steps whose results decide nothing"),
    Pass("unrotate", "ptxcore/machine/loops/iterations.py", "undoes loop rotation"),
    Pass("one-poll", "ptxcore/machine/loops/iterations.py", "drops a poll that the same poll follows"),
    Pass("retries", "ptxcore/machine/loops/iterations.py", "makes a compare-and-swap that tries again a wait"),
    Pass("inner-waits", "ptxcore/machine/loops/iterations.py", "gives a wait at the head of a loop a loop of its own"),
    Pass("noop-updates", "axioms/analysis/noop_updates.py", "takes an atomic that writes what it read for effect-free"),
    Pass("constant-reads", "axioms/analysis/constant_reads.py", "puts in what reads can only return"),
    Pass("slicing", "axioms/analysis/slicing.py", "drops accesses and barriers that nothing depends on"),
    Pass("specialise", "axioms/witness/fitted.py", "simplifies the model by what the program has nothing of"),
    Pass("symmetry", "axioms/encode/symmetry.py", "fixes the order of threads that nothing tells apart"),
)


def left_out(names: Iterable[str]) -> list[str]:
    """The options of programs that leave out these passes. Raises ValueError for what is none."""
    names, known = list(names), [p.name for p in PASSES]
    for name in names:
        if name not in known:
            raise ValueError(f"a pass must be one of {', '.join(known)}, not '{name}'")
    return [WITHOUT + name for name in names]


def reduced(program: Program, model: Model) -> Program:
    """The program after all passes over programs but those that its options leave out."""
    for name, run in REDUCTIONS.items():
        if name not in program.off:
            program = run(program, model)
    return program
