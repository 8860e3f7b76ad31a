"""Why an outcome is forbidden, told to people: the circle that it would close, edge by edge, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from axioms.execution import ExecutedEvent
    from axioms.result import Rest, Step, Why
    from ptxmm.story import Cast

#: What each axiom of the models that ship says, with the manual's section.
AXIOMS = {
    "causality": "Causality (8.10.6): a read sees neither a write that follows it in causality order nor one that is "
    "older than another write which precedes it in causality order",
    "coherence": "Coherence (8.10.1): of two overlapping writes, the first in causality order is the first in coherence order",
    "coherence-total": "Coherence (8.9.6): morally strong writes that overlap stand in coherence order one way or the other",
    "fence-sc": "FenceSC (8.10.2): fence.sc order and base causality order do not contradict each other",
    "single-copy": "Single-copy atomicity (8.10.3): a read does not mix the bytes of a morally strong write with older ones",
    "atomicity": "Atomicity (8.10.3): no morally strong write comes between the read and the write of an atomic operation",
    "no-thin-air": "No-thin-air (8.10.4): no value depends on itself",
    "sc-per-location": "SC per location (8.10.5): morally strong accesses to one location take place in some order",
    "mbarrier-order": "The operations on an mbarrier object take place in an order that agrees with causality (9.7.13.15)",
}
_EDGES = {
    "po": "comes before {after} in program order",
    "rf": "is read by {after}",
    "rf^-1": "reads what {after} writes",
    "co": "comes before {after} in coherence order",
    "co^-1": "comes after {after} in coherence order",
    "fr": "reads a value older than what {after} writes",
    "rmw": "is one atomic operation with {after}",
    "sync": "synchronizes with {after} (8.9.4)",
    "sync-some": "synchronizes with {after}, by a fence that is about such accesses (9.7.13.4)",
    "proxy-sync": "synchronizes with the proxy fence {after} (9.7.13.4)",
    "sc": "comes before {after} in fence.sc order (8.9.3)",
    "bars": "synchronizes with {after} at their barrier (8.9.4)",
    "api": "comes before {after} by the order of kernels and streams (8.9.4)",
    "mbrf": "arrives in the phase that {after} waits for (9.7.13.15)",
    "mbo": "takes place on its mbarrier object before {after}",
    "comp": "is complete when {after} tells so (9.7.9.25)",
    "issue": "issues {after} (8.9.1.1)",
    "data": "gives a value that {after} depends on",
    "addr": "gives an address to {after}",
    "ctrl": "decides whether {after} takes place",
}
_MOST_THREADS = 3
#: Edges between the events of one instruction.
_ITSELF = {"comp": "is complete (9.7.9.25)", "issue": "begins (8.9.1.1)"}


class Telling:
    """One reason, in words."""

    def __init__(self, why: Why, cast: Cast) -> None:
        self.why, self.cast = why, cast
        self.events = why.execution.events

    def lines(self) -> Iterator[str]:
        state = ", ".join(f"{name} = {value}" for name, value in self.why.execution.state.items())
        yield f"no execution ends with {state or 'it'}:"
        yield AXIOMS.get(self.why.axiom, f"the model's axiom {self.why.axiom}")
        steps = self._turned()
        circle = len(steps) > 1 and steps[0].before == steps[-1].after
        for at, step in enumerate(steps):
            last = circle and at == len(steps) - 1
            yield f"  {'but ' if last else ''}{self._sentence(step)}"
            yield from (f"    {line}" for line in self._parts(step))
        if self.why.rests:
            yield "it rests on"
            yield from (f"  {line}" for line in self._rests())

    def document(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "axiom": self.why.axiom,
            "steps": [
                {"before": self._place(s.before), "relation": s.relation, "after": self._place(s.after)}
                for s in self._turned()
            ],
            "rests_on": [rest._asdict() for rest in self.why.rests],
            "text": list(self.lines()),
        }

    def _turned(self) -> tuple[Step, ...]:
        """The circle from where the story begins: what a read sees, or what coherence says, stands last."""
        steps = self.why.steps
        if len(steps) > 1 and steps[0].before == steps[-1].after:
            for at, step in enumerate(steps):
                if step.relation in ("fr", "rf", "co"):
                    return steps[at + 1 :] + steps[: at + 1]
        return steps

    def _place(self, index: int) -> dict[str, Any]:
        event = self.events[index]
        thread = self.cast.name(event.thread) if event.thread >= 0 else None
        return {"thread": thread, "line": event.line, "instruction": event.text}

    def _named(self, event: ExecutedEvent) -> str:
        if event.kind == "K":
            return event.text
        if event.thread < 0:
            return f"the initial value of {event.location}"
        return f"{self.cast.name(event.thread)}, {self.cast.place(event)} `{event.text}`"

    def _sentence(self, step: Step) -> str:
        before, after = self.events[step.before], self.events[step.after]
        if step.relation in _ITSELF and _instruction(before) == _instruction(after):
            return f"{self._named(before)} {_ITSELF[step.relation]}"
        words = _EDGES.get(step.relation, f"is related by {step.relation} to {{after}}")
        return f"{self._named(self.events[step.before])} {words.format(after=self._named(self.events[step.after]))}"

    def _parts(self, step: Step) -> Iterator[str]:
        """Through which write, seen by which read, two operations synchronize."""
        for part in step.parts:
            if part.relation in ("rf", "mbrf") or (part.relation == "po" and step.relation != "sc"):
                yield self._sentence(part)

    def _rests(self) -> Iterator[str]:
        """What cannot be weaker, an instruction a line; threads that execute it for the same are told together."""
        weaker: dict[tuple[str, int, str], list[Rest]] = {}
        for rest in self.why.rests:
            weaker.setdefault((rest.thread, rest.line, rest.instruction), []).append(rest)
        alike: dict[tuple[str, str, str], list[str]] = {}
        for (thread, _, instruction), rests in weaker.items():
            key = self._line(rests[0]), instruction, ", or ".join(dict.fromkeys(map(_weakened, reversed(rests))))
            alike.setdefault(key, []).append(thread)
        for (line, instruction, how), threads in alike.items():
            more = f", or {len(threads) - _MOST_THREADS} more" if len(threads) > _MOST_THREADS else ""
            yield f"{', or '.join(threads[:_MOST_THREADS])}{more}, {line} `{instruction}`: {how}, the outcome would be allowed"

    def _line(self, rest: Rest) -> str:
        """Where an instruction stands, in the source too where an event tells."""
        names = [name for name, _ in self.why.execution.threads]
        found = (e for e in self.events if e.line == rest.line and e.thread >= 0 and names[e.thread] == rest.thread)
        event = next(found, None)
        return f"line {rest.line}" if event is None else self.cast.place(event)


def _weakened(rest: Rest) -> str:
    if rest.kind in ("fence", "wait"):
        return f"without this {rest.kind}"
    return f"with scope .{rest.instead}" if rest.kind == "scope" else f"were it {rest.instead}"


def _instruction(event: ExecutedEvent) -> tuple[int, int | None, str]:
    return event.thread, event.line, event.text.partition(" (its ")[0]
