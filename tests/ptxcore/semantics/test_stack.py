"""What the stack and the miscellaneous instructions ask of their thread (sections 9.7.17 and 9.7.19)."""

from __future__ import annotations

from typing import Any

import pytest

from ptxcore.isa.form import Use
from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import candidates
from ptxcore.values.terms import Value


class StackThread:
    """A thread with nothing but a stack that grows down, and a note of what stopped it."""

    def __init__(self) -> None:
        self.top = 1 << 40
        self.stopped: list[str] = []

    def stack_pointer(self, restored: Value | None = None) -> Value:
        if restored is not None:
            assert isinstance(restored, int)
            self.top = restored
        return self.top

    def allocate(self, how: Use, size: Value, alignment: Value) -> Value:
        assert isinstance(size, int) and isinstance(alignment, int)
        self.top = (self.top - size) // alignment * alignment
        return self.top

    def stop(self, how: Use, reason: str) -> None:
        self.stopped.append(reason)


def run(thread: StackThread, instruction: str, *sources: Any) -> Any:
    opcode, *modifiers = instruction.split(".")
    found = candidates(opcode, tuple(modifiers))
    assert found is not None and not isinstance(found, Misfit)
    assert found[0].form.kind == "effect"
    return found[0].form.meaning(found[0], thread, *sources)


@pytest.mark.parametrize(("kind", "mask"), [("u32", 0xFFFFFFFF), ("u64", 2**64 - 1)])
def test_the_stack_grows_down_and_is_restored(kind: str, mask: int) -> None:
    thread = StackThread()
    saved = run(thread, f"stacksave.{kind}")
    assert saved == (1 << 40) & mask
    thread.top = before = saved or 1 << 16
    assert run(thread, f"alloca.{kind}", 100, None) == before - 104  # aligned to 8 where nothing is said
    assert run(thread, f"alloca.{kind}", 1, 256) == before - 256
    assert run(thread, f"alloca.{kind}", 4, 2) == before - 256 - 8  # never to less than 8
    assert run(thread, f"stackrestore.{kind}", before) is None
    assert thread.top == before


@pytest.mark.parametrize("instruction", ["trap", "brkpt"])
def test_a_thread_is_stopped_with_the_reason(instruction: str) -> None:
    thread = StackThread()
    assert run(thread, instruction) is None
    assert thread.stopped == [instruction]


@pytest.mark.parametrize("instruction", ["nanosleep.u32", "pmevent", "pmevent.mask", "setmaxnreg.inc.sync.aligned.u32"])
def test_hints_to_the_hardware_do_nothing(instruction: str) -> None:
    opcode, *modifiers = instruction.split(".")
    found = candidates(opcode, tuple(modifiers))
    assert found is not None and not isinstance(found, Misfit)
    assert [use.form.kind for use in found if use.form.run is not None] == ["nothing"] * len(found)
