"""A program as the engine sees it: guarded events, and the relations that are known before any solving.

    source      what is given: threads that were executed, memory, what is asked
    building    source -> program: where each access may go, the cells, the events, the relations
    changes     program -> program: other cells, another question, other threads, constant reads put in
    dependencies  what events depend on: `addr`, `data`, `ctrl`, `comp`

Nothing in a program changes. Whoever needs another one makes it, by `changes` or by `dataclasses.replace`.
"""

from axioms.errors import UnsupportedProgram
from axioms.events.event import Event, ProgramThread, UndefinedBehaviour
from axioms.events.memory import Object, View
from axioms.program.building import build
from axioms.program.changes import asking, cut_at, showing, with_constant_reads, with_options, with_threads
from axioms.program.dependencies import carries_all, dependency_pairs, ends_by
from axioms.program.program import Program, members_by_tag, numbers_written
from axioms.program.source import AskedValues, Observable, ProgramSource, final_symbol

__all__ = [
    "AskedValues",
    "Event",
    "Object",
    "Observable",
    "Program",
    "ProgramSource",
    "ProgramThread",
    "UndefinedBehaviour",
    "UnsupportedProgram",
    "View",
    "asking",
    "build",
    "carries_all",
    "cut_at",
    "dependency_pairs",
    "ends_by",
    "final_symbol",
    "members_by_tag",
    "numbers_written",
    "showing",
    "with_constant_reads",
    "with_options",
    "with_threads",
]
