"""A test under a model, decided; the last results are kept, since pictures are asked for just after."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ptxcore.records import NamedTuple
from ptxmm.checker import Checker, Outcome, Settings, refused
from ptxmm.result import Refusal
from ptxmm.web import limits
from ptxmm.web.asked import YOURS, PageRequest
from ptxmm.web.reading import test_of, your_model

if TYPE_CHECKING:
    from litmus.test import Test
    from ptxmm.kernels.test import KernelTest


class Decided(NamedTuple):
    """What became of a test under a model, with the executions of its states; `test` is None where it could not be read."""

    outcome: Outcome
    test: Test | KernelTest | None


class _Whole(Checker):
    """Checks as every command does, and keeps the executions."""

    def _decide(self, test: Test | KernelTest) -> Outcome:
        return Outcome(self.checked(test), {})


def settings_of(asked: PageRequest, model: str, seconds: float) -> Settings:
    """How a test is checked for a request."""
    options = dict(asked.options)
    return Settings(
        model=model,
        timeout=seconds,
        drawings=("svg",),  # executions are wanted; who draws them is another matter
        unroll=unroll_of(asked),
        all_registers=options.get("all_registers", False),
        explain=options.get("explain", False),
        why=options.get("why", True),
        checks=options.get("checks", ()),
        progress=options.get("progress"),
        resident=options.get("resident"),
        options=frozenset(options.get("readings", ())),
    )


def unroll_of(asked: PageRequest) -> int:
    """How often loops are followed for a request, where its text does not say."""
    return int(dict(asked.options).get("unroll", 4))


_kept: OrderedDict[PageRequest, Decided] = OrderedDict()


def decided(asked: PageRequest, seconds: float, *, anew: bool = False) -> Decided:
    """The result of a request's test under its first model, as far as it comes in so many seconds. It never raises. `anew`: one
    that came to no end is not taken from what is kept; a picture is of the result that was told, whatever that is."""
    key = asked._replace(execution=0, relations=(), offset=0, page="", models=asked.models[:1])
    if key.models != (YOURS,):
        key = key._replace(cat=None)
    found = _kept.get(key)
    if found is None or (anew and found.outcome.result.stopped):
        found = _kept[key] = _decide(key, seconds)
        while len(_kept) > limits.MOST_RESULTS:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return found


def forget() -> None:
    """Keeps no result."""
    _kept.clear()


def _decide(asked: PageRequest, seconds: float) -> Decided:
    model = asked.models[0]
    checker = _Whole(settings_of(asked, model, seconds))
    read: list[Test | KernelTest] = []

    def load() -> Test | KernelTest:
        if model == YOURS:
            from ptxmm import api

            readings = checker.settings.options
            api.remember(YOURS, readings, your_model(asked.cat or "", readings))
        read.append(test_of(asked))
        return read[0]

    outcome = checker.decide(asked.path, load)
    return Decided(outcome, read[0] if read else None)


def late(asked: PageRequest, seconds: float) -> Outcome:
    """For a test whose worker had to be stopped."""
    return Checker(settings_of(asked, asked.models[0], seconds)).late(asked.path, seconds)


def lost(asked: PageRequest, reason: str) -> Outcome:
    """For a test whose worker died."""
    return refused(asked.path, asked.models[0], Refusal(f"its worker process ended: {reason}"))


def options_table() -> list[dict[str, Any]]:
    """What `options` may have, for a page that offers them."""
    from axioms.liveness.progress import NAMES
    from axioms.models.options import OPTIONS
    from litmus.test import PROPERTIES

    def row(name: str, about: str, type_: str, default: Any, values: Any = None) -> dict[str, Any]:
        return {"name": name, "about": about, "type": type_, "default": default, "values": values}

    readings = [{"name": name, "about": about} for name, about in OPTIONS.items()]
    return [
        row("unroll", "a loop body executes at most so many times, where a test does not say", "number", 4),
        row("all_registers", "states list all registers, or all elements of buffers", "flag", False),
        row("checks", "what must hold besides what the test asks", "list", [], list(PROPERTIES)),
        row("progress", "who is scheduled fairly; by scope as in cta=obe,gpu=fair", "choice", "fair", list(NAMES)),
        row("resident", "so many CTAs run at once", "number", None),
        row("readings", "readings of the manual that differ from ours", "list", [], readings),
        row("explain", "find the axioms that forbid an outcome", "flag", False),
        row("why", "tell why an outcome is forbidden, or how it comes about", "flag", True),
    ]
