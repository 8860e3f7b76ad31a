"""Why an outcome is forbidden, told to people: the circle that it would close, edge by edge, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from axioms.events.event_kinds import KERNEL_EVENT
from axioms.explain.claims import Claim
from ptxmm.events import written

if TYPE_CHECKING:
    from axioms.witness.execution import ExecutedEvent
    from axioms.witness.result import ExecutionEdge, Rest, Site, Unreachable, Why
    from ptxmm.words.linearisation import Cast

#: The version of the manual whose sections are cited, and the model that is read from it. Others cite none: their manuals have
#: other sections, and a user's model is nobody's but the user's.
_CITED = "ptx-9.0"
#: What each axiom of the models that ship says; `{}` is where the manual's section is cited.
AXIOMS = {
    "causality": "Causality{}: a read sees neither a write that follows it in causality order nor one that is "
    "older than another write which precedes it in causality order",
    "coherence": "Coherence{}: of two overlapping writes, the first in causality order is the first in coherence order",
    "coherence-total": "Coherence{}: morally strong writes that overlap stand in coherence order one way or the other",
    "fence-sc": "FenceSC{}: fence.sc order and base causality order do not contradict each other",
    "single-copy": "Single-copy atomicity{}: a read does not mix the bytes of a morally strong write with older ones",
    "atomicity": "Atomicity{}: no morally strong write comes between the read and the write of an atomic operation",
    "no-thin-air": "No-thin-air{}: no value depends on itself",
    "sc-per-location": "SC per location{}: morally strong accesses to one location take place in some order",
    "try-wait": "Waits{}: none is told no of a phase that is certainly over by then",
    "mbarrier-order": "The operations on an mbarrier object take place in an order that agrees with causality{}",
}
#: What else an axiom says in a model.
_MORE = {("ptx-7.5", "causality"): ", and causality order does not go in a circle"}
#: Where the manual says it.
SECTIONS = {
    "causality": "8.10.6",
    "coherence": "8.10.1",
    "coherence-total": "8.9.6",
    "fence-sc": "8.10.2",
    "single-copy": "8.10.3",
    "atomicity": "8.10.3",
    "no-thin-air": "8.10.4",
    "sc-per-location": "8.10.5",
    "try-wait": "9.7.13.15.16",
    "mbarrier-order": "9.7.13.15",
}
_EDGES = {
    "po": "comes before {after} in program order",
    "rf": "is read by {after}",
    "rf^-1": "reads what {after} writes",
    "co": "comes before {after} in coherence order",
    "co^-1": "comes after {after} in coherence order",
    "fr": "reads a value older than what {after} writes",
    "rmw": "is one atomic operation with {after}",
    "sync": "synchronizes with {after}",
    "sync-some": "synchronizes with {after}, by a fence that is about such accesses",
    "proxy-sync": "synchronizes with the proxy fence {after}",
    "sc": "comes before {after} in fence.sc order",
    "sync_fence": "comes before {after} in fence.sc order",
    "bars": "synchronizes with {after} at their barrier",
    "syncbar": "arrives at the barrier at which {after} waits",
    "api": "comes before {after} by the order of kernels and streams",
    "mbrf": "arrives in the phase that {after} waits for",
    "mbo": "takes place on its mbarrier object before {after}",
    "comp": "is complete when {after} tells so",
    "issue": "issues {after}",
    "data": "gives a value that {after} depends on",
    "addr": "gives an address to {after}",
    "ctrl": "decides whether {after} takes place",
}
_SECTION_OF = {
    "sync": "8.9.4",
    "sync-some": "9.7.13.4",
    "proxy-sync": "9.7.13.4",
    "sc": "8.9.3",
    "bars": "8.9.4",
    "api": "8.9.4",
    "mbrf": "9.7.13.15",
    "comp": "9.7.9.25",
    "issue": "8.9.1.1",
}
_MOST_THREADS = 3
#: Edges between the events of one instruction.
_ITSELF = {"comp": "is complete", "issue": "begins"}


class Telling:
    """One reason, in words. `complete`: no bound of a loop cut executions off."""

    def __init__(self, why: Why, cast: Cast, *, complete: bool = True) -> None:
        self.why, self.cast, self.complete = why, cast, complete
        self.events = why.execution.events

    def lines(self) -> Iterator[str]:
        return (line for line, _ in self.told())

    def told(self) -> Iterator[tuple[str, tuple[ExecutionEdge, ...]]]:
        """Each line, with the steps that it speaks of."""
        state = ", ".join(f"{name} = {value}" for name, value in self.why.execution.state.items())
        within = "" if self.complete else " within the bounds of loops"
        yield f"no execution{within} ends with {state or 'it'}:", ()
        steps = self._turned()
        yield self._axiom(), steps
        circle = len(steps) > 1 and steps[0].before == steps[-1].after
        for at, step in enumerate(steps):
            last = circle and at == len(steps) - 1
            yield f"  {'but ' if last else ''}{self._sentence(step)}", (step,)
            yield from ((f"    {self._sentence(part)}", (part,)) for part in self._parts(step))
        if self.why.rests:
            yield "it rests on", ()
            yield from ((f"  {line}", ()) for line in self._rests())
        if not self.why.whole:
            yield "what else it rests on was not found in time", ()

    def edges(self) -> list[list[tuple[str, int, int]]]:
        """Of each line the edges that it speaks of: a relation, and two events by their numbers."""
        return [[(step.relation, step.before, step.after) for step in steps] for _, steps in self.told()]

    def claims(self) -> Iterator[Claim]:
        """What the steps say of the execution."""
        for step in self.why.steps:
            for edge in (step, *step.parts):
                yield Claim("edge", (edge.before, edge.after), (edge.relation,))

    def _axiom(self) -> str:
        """What the axiom says: in words for models that ship, as it is written for others."""
        name, shipped = self.why.axiom, self.why.shipped
        if shipped and name in AXIOMS:
            return axiom_in_words(name, shipped)
        return f"the model's axiom {name}" + (f": {self.why.statement}" if self.why.statement else "")

    def _cited(self, section: str | None) -> str:
        return _cited(section, self.why.shipped)

    def document(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "axiom": self.why.axiom,
            "outcome": self.why.execution.state,
            "steps": [
                {"before": self._place(s.before), "relation": s.relation, "after": self._place(s.after)}
                for s in self._turned()
            ],
            "rests_on": [*map(self._rest, self.why.rests)],
            "text": list(self.lines()),
        }

    def _turned(self) -> tuple[ExecutionEdge, ...]:
        """The circle from where the linearisation begins: what a read sees, or what coherence says, stands last."""
        steps = self.why.steps
        if len(steps) > 1 and steps[0].before == steps[-1].after:
            for at, step in enumerate(steps):
                if step.relation in ("fr", "rf", "co"):
                    return steps[at + 1 :] + steps[: at + 1]
        return steps

    def _place(self, index: int) -> dict[str, Any]:
        event = self.events[index]
        thread = self.cast.name(event.thread) if event.thread >= 0 else None
        return {"thread": thread, "line": event.line, "instruction": written(event)}

    def _rest(self, rest: Rest) -> dict[str, Any]:
        site = {
            "thread": self.cast.name(rest.site.thread),
            "line": rest.site.line,
            "instruction": rest.site.instruction,
        }
        outcome = dict(rest.state) or self.why.execution.state
        return {**site, "kind": rest.kind, "instead": rest.instead, "outcome": outcome}

    def _named(self, event: ExecutedEvent) -> str:
        if event.kind is KERNEL_EVENT:
            return event.text
        if event.thread < 0:
            return f"the initial value of {event.location}"
        return f"{self.cast.name(event.thread)}, {self.cast.place(event)} `{written(event)}`"

    def _sentence(self, step: ExecutionEdge) -> str:
        before, after = self.events[step.before], self.events[step.after]
        if step.relation in _ITSELF and _instruction(before) == _instruction(after):
            return f"{self._named(before)} {_ITSELF[step.relation]}{self._cited(_SECTION_OF[step.relation])}"
        words = _EDGES.get(step.relation, f"is related by {step.relation} to {{after}}").format(
            after=self._named(after)
        )
        return f"{self._named(before)} {words}{self._cited(_SECTION_OF.get(step.relation))}"

    def _parts(self, step: ExecutionEdge) -> Iterator[ExecutionEdge]:
        """Through which write, seen by which read, two operations synchronize."""
        for part in step.parts:
            if part.relation in ("rf", "mbrf") or (part.relation == "po" and step.relation != "sc"):
                yield part

    def _rests(self) -> Iterator[str]:
        """What cannot be weaker, an instruction a line; threads that execute it for the same are told together."""
        weaker: dict[tuple[Site, bool], list[Rest]] = {}
        for rest in self.why.rests:
            weaker.setdefault((rest.site, bool(rest.state)), []).append(rest)
        alike: dict[tuple[str, str, str, bool], list[Rest]] = {}
        for (site, other), rests in weaker.items():
            how = ", or ".join(dict.fromkeys(map(_weakened, reversed(rests))))
            alike.setdefault((self._line(site), site.instruction, how, other), []).append(rests[-1])
        for (line, instruction, how, _), of_each in alike.items():
            threads = [self.cast.name(rest.site.thread) for rest in of_each]
            more = f", or {len(threads) - _MOST_THREADS} more" if len(threads) > _MOST_THREADS else ""
            yield f"{', or '.join(threads[:_MOST_THREADS])}{more}, {line} `{instruction}`: {how}, {_let_in(of_each[0])}"

    def _line(self, site: Site) -> str:
        """Where an instruction stands, in the source too where an event tells."""
        event = next((e for e in self.events if (e.thread, e.line) == (site.thread, site.line)), None)
        return f"line {site.line}" if event is None else self.cast.place(event)


def axiom_in_words(name: str, shipped: str) -> str:
    """What an axiom of a model that ships says."""
    return AXIOMS[name].format(_cited(SECTIONS.get(name), shipped)) + _MORE.get((shipped, name), "")


def _cited(section: str | None, shipped: str) -> str:
    return f" ({section})" if section and shipped == _CITED else ""


def document(lines: list[str]) -> dict[str, Any]:
    """A reason that is no axiom's, as data."""
    return {"axiom": None, "steps": [], "rests_on": [], "text": lines}


def unexplained(reason: Unreachable, cast: Cast, *, complete: bool = True) -> list[str]:
    """Why no axiom is named that forbids an outcome."""

    def where(site: Site) -> str:
        named = site.thread >= 0
        return f"{cast.name(site.thread)}, line {site.line} `{site.instruction}`" if named else site.instruction

    if reason.kind == "size":
        return [
            f"not explained: the test has {reason.events} events, and reasons are looked for in those of at most {reason.most}"
        ]
    if reason.kind == "time":
        return [f"not explained: the reason was not found within {reason.seconds:.3g} s"]
    if reason.kind == "values":
        return ["not explained: without the model's axioms there are too many values to tell apart"]
    within = "" if complete else " within the bounds of loops"
    lines = [f"no candidate execution{within} has this outcome, whatever the model's axioms say"]
    if reason.values:
        known = ", ".join(f"{name} is {' or '.join(map(str, values))}" for name, values in reason.values)
        lines.append(f"in every candidate execution {known}")
    if reason.circle:
        lines.append("any other value would have to come out of itself")
        lines += [f"  {where(f.read)} returns what {where(f.write)} writes" for f in reason.circle[:1]]
        for f, following in zip(reason.circle, (*reason.circle[1:], reason.circle[0]), strict=True):
            last = following is reason.circle[0]
            more = "" if last else f", which returns what {where(following.write)} writes"
            lines.append(f"  and that comes from {where(f.source)}{more}")
        if reason.axiom:
            lines.append(f"an axiom says so too: {axiom_in_words(reason.axiom, reason.shipped)}")
    return lines


def _weakened(rest: Rest) -> str:
    if rest.kind in ("fence", "wait"):
        return f"without this {rest.kind}"
    return f"with scope .{rest.instead}" if rest.kind == "scope" else f"were it {rest.instead}"


def _let_in(rest: Rest) -> str:
    """What a weaker instruction allows: the outcome that is told, or another that answers the condition alike."""
    if not rest.state:
        return "the outcome would be allowed"
    state = ", ".join(f"{name} = {value}" for name, value in rest.state)
    return f"another outcome that is forbidden here would be allowed, as {state}"


def _instruction(event: ExecutedEvent) -> tuple[int, int | None, str]:
    return event.thread, event.line, event.text
