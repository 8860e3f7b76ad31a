"""Stack manipulation (PTX ISA 9.0, section 9.7.17)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.form import Form, Use
from ptxcore.isa.integer import fit
from ptxcore.isa.thread import Thread
from ptxcore.values.terms import Value, ite, ult, zext


def stacksave(how: Use, thread: Thread) -> Value:
    """d = stackptr"""
    return fit(thread.stack_pointer(), how.width)


def stackrestore(how: Use, thread: Thread, a: Value) -> None:
    """stackptr = a"""
    thread.stack_pointer(zext(a, 64))


def alloca(how: Use, thread: Thread, size: Value, alignment: Value | None) -> Value:
    """stackptr = size bytes of new stack memory, aligned; d = stackptr. The alignment is 8 or more."""
    aligned = 8 if alignment is None else ite(ult(alignment, 8, 32), 8, alignment, 32)
    return fit(thread.allocate(how, zext(size, 64), aligned), how.width)


_stack = partial(Form, version="7.3", target="sm_52", type="u32 u64", kind="effect")

FORMS = (
    _stack("stacksave.type d", stacksave, section="9.7.17.1"),
    _stack("stackrestore.type a:reg", stackrestore, section="9.7.17.2"),
    _stack("alloca.type d, a, b:power_of_two imm?", alloca, section="9.7.17.3"),
)
