"""Minimal tests: of what a model forbids, those from which no order, scope, fence or barrier can be taken.

As suites of minimal tests have it (ASPLOS'17): whatever is made weaker by one step (`ptxmm.weakened`), the model forbids the
outcome no more: it allows it, or gives the test no meaning. A test is made minimal step by step; which of several minimal
tests comes out hangs on the order of the steps, which is that of `litmus.relaxations`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from litmus.formats.printer import write
from litmus.test import Test
from ptxmm.weakened import forbids, weakened

#: Seconds for what the model says of one test.
TIMEOUT = 20.0


def minimal(test: Test, model: str, timeout: float | None = TIMEOUT) -> Test | None:
    """A minimal test of the same outcome, with what is written in it weaker or gone; None where the model allows the outcome,
    or does not say in time."""
    if not forbids(test, model, timeout):
        return None
    found = test
    weaker: Test | None = test
    while weaker is not None:
        found = weaker
        asking = (replace(one.test, condition=test.condition) for one in weakened(found))
        weaker = next((one for one in asking if forbids(one, model, timeout)), None)
    return found


def minimal_tests(tests: Iterable[Test], model: str, timeout: float | None = TIMEOUT) -> Iterator[Test]:
    """The minimal tests of many, each once, by the name of its own cycle; `Expect=` says that its outcome is not there."""
    seen: set[str] = set()
    names: dict[str, int] = {}
    for test in tests:
        made = minimal(test, model, timeout)
        if made is None:
            continue
        bare = replace(made, name="t", meta=(), comments=(), observed=())
        text = write(bare)
        if text in seen:
            continue
        seen.add(text)
        name, meta = _called(made)
        names[name] = number = names.get(name, 0) + 1
        yield replace(
            made, name=name if number == 1 else f"{name}-{number}", comments=(), observed=(),
            meta=(*meta, ("Expect", "no" if made.condition.quantifier == "exists" else "ok")),
        )  # fmt: skip


def _called(test: Test) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What a test is called by its cycle, and the lines that say so."""
    from litmus.cycles.recognise import Unread, recognised

    try:
        cycles = recognised(replace(test, meta=(), name="t"))
    except Unread:
        cycles = ()
    if len(cycles) != 1 or not cycles[0].whole:
        return f"{test.name}-minimal" if test.name else "minimal", ()
    return cycles[0].name, (("Cycle", cycles[0].cycle),) if cycles[0].exact else ()
