"""What was seen, beside what a model allows."""

from __future__ import annotations

from dataclasses import field, replace

from litmus.formats.printer import write_proposition
from litmus.test import And, Compare, Condition, Constant, Literal, Test
from ptxcore.records import NamedTuple, dataclass
from ptxmm.gpu.conditions import holds
from ptxmm.gpu.contract import GpuModule
from ptxmm.gpu.layout import SeenStates
from ptxmm.gpu.running import addresses_of

#: Seconds for what the model says of one test, where nobody says otherwise.
TIMEOUT = 60.0


class StateRow(NamedTuple):
    """A state, how often it was seen, whether it satisfies the proposition of the test, and whether the model allows it: None
    where that was not decided. `why`: of one that it forbids, the execution that it needs, line by line."""

    state: dict[str, int]
    times: int
    satisfied: bool
    allowed: bool | None
    why: tuple[str, ...] = ()


@dataclass
class JudgedRuns:
    """The histogram of a test under a model. `filtered`: instances whose states the filter of the test leaves out. `unseen`:
    how many the model allows that were not seen; None where it does not list them all. `meaningless`: the model gives
    the program no meaning, so that no state is forbidden."""

    test: Test
    model: str
    rows: list[StateRow]
    seen: SeenStates
    filtered: int = 0
    unseen: int | None = None
    meaningless: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def forbidden(self) -> list[StateRow]:
        """The states that were seen and that the model forbids."""
        return [row for row in self.rows if row.allowed is False]

    @property
    def undecided(self) -> list[StateRow]:
        """Those of which nobody knows."""
        return [row for row in self.rows if row.allowed is None]

    @property
    def positive(self) -> int:
        """How many instances satisfied the proposition."""
        return sum(row.times for row in self.rows if row.satisfied)

    @property
    def negative(self) -> int:
        """How many did not."""
        return sum(row.times for row in self.rows if not row.satisfied)

    @property
    def held(self) -> bool:
        """Whether what was seen is as the condition says; where nothing was, nothing is."""
        if not self.seen.states:
            return False
        quantifier = self.test.condition.quantifier
        if quantifier == "exists":
            return self.positive > 0
        return self.positive == 0 if quantifier == "~exists" else self.negative == 0


def judge(made: GpuModule, seen: SeenStates, model: str, *, timeout: float | None = TIMEOUT) -> JudgedRuns:
    """Which of the states that were seen a model allows. Raises InputError for a model that is none."""
    import ptxmm

    test = made.test
    addresses = addresses_of(test)
    widths = {v.label: (v.width, v.signed) for v in made.values}
    result = ptxmm.check(test, model, timeout=timeout, witnesses=False)
    allowed = [tuple(state.values()) for state in result.states]
    whole = result.listed_all and not result.stopped and result.verdict not in ("undecided", "error")
    meaningless = result.trouble if result.verdict == "undefined" else ""
    found = JudgedRuns(test, model, [], seen, meaningless=meaningless)
    labels = [v.label for v in made.values]
    known = set(allowed)
    for values, count in sorted(seen.states.items()):
        state = dict(zip(labels, values, strict=True))
        if test.filter is not None and not holds(test.filter, state, widths, addresses):
            found.filtered += count
            continue
        satisfied = holds(test.condition.proposition, state, widths, addresses)
        verdict, why = (True, ()) if values in known or meaningless else _of_state(made, state, model, timeout)
        found.rows.append(StateRow(state, count, satisfied, verdict, why))
    if whole and result.complete and not meaningless:
        found.unseen = len(known - set(seen.states))
    return found


def _of_state(
    made: GpuModule, state: dict[str, int], model: str, timeout: float | None
) -> tuple[bool | None, tuple[str, ...]]:
    """Whether a model allows one state; where it does not, the execution that it would need."""
    import ptxmm

    asked = in_state(made, state)
    result = ptxmm.check(asked, model, timeout=timeout, why=True, witnesses=False)
    if result.verdict == "no" and not result.positive and result.complete:  # nothing ends, so that nothing ends so
        return False, ("no execution of the test ends",)
    if result.verdict == "ok":
        lines = (
            result.why["text"]
            if result.why is not None
            else [f"no execution ends with {write_proposition(asked.condition.proposition)}"]
        )
        return False, tuple(lines)
    return (True if result.verdict == "no" and result.positive else None), ()


def in_state(made: GpuModule, state: dict[str, int]) -> Test:
    """The test that asks whether an execution ends in a state."""
    parts = tuple(Compare("==", v.term, Constant(state[v.label])) for v in made.values)
    proposition = And(parts) if len(parts) > 1 else parts[0] if parts else Literal(True)
    condition = Condition("~exists", proposition, line=made.test.condition.line)
    return replace(made.test, condition=condition, more=(), checks=(), meta=(), filter=None)
