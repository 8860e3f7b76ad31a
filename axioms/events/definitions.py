"""Symbols that stand for other values: what a read of several cells returns is made of what each cell holds, what a shuffle
returns of what other threads bring. Definitions are put in wherever their symbols occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ptxcore.clock import tick
from ptxcore.machine.ir.effects import Effect, Iteration, Stuck, ThreadExecution
from ptxcore.values import terms
from ptxcore.values.terms import Term, Value


class CircularDefinition(Exception):
    """A symbol is defined by way of itself."""


class Definitions:
    """Called with a value, gives it with every defined symbol replaced, those inside of definitions too."""

    def __init__(self, values: Mapping[Term, Value]) -> None:
        self.values = values
        self._new: dict[Term, Value] = {}

    def __bool__(self) -> bool:
        return bool(self.values)

    def __call__(self, value: Value) -> Value:
        if type(value) is not Term:
            return value
        new = self._new
        open_: set[Term] = set()
        stack = [value]
        while stack:
            t = stack[-1]
            if t in new:
                stack.pop()
            elif t.op == "symbol":
                defined = self.values.get(t, t)
                if type(defined) is Term and defined is not t and defined not in new:
                    if t in open_:
                        raise CircularDefinition(terms.render(t))
                    open_.add(t)
                    stack.append(defined)
                else:
                    new[t] = new[defined] if type(defined) is Term and defined is not t else defined
            else:
                missing = [a for a in t.args if type(a) is Term and a not in new]
                if missing:
                    stack += missing
                    continue
                args = [new[a] if type(a) is Term else a for a in t.args]
                new[t] = t if all(a is b for a, b in zip(args, t.args, strict=True)) else terms.rebuild(t, args)
        return new[value]

    def effect(self, effect: Effect) -> Effect:
        """An effect with definitions put in; `result` stays the symbol that it is."""
        tick()
        changed: dict[str, Any] = {}
        for name in FIELDS:
            old = getattr(effect, name)
            new = old if type(old) in _KNOWN else self._anywhere(old)
            if new is not old:
                changed[name] = new
        return replace(effect, **changed) if changed else effect

    def _anywhere(self, old: Any) -> Any:
        if type(old) is Term:
            return self(old)
        if isinstance(old, Mapping):
            items = {k: self(v) for k, v in old.items()}
            return items if any(items[k] is not v for k, v in old.items()) else old
        if isinstance(old, tuple) and any(type(v) is Term or type(v) is tuple for v in old):
            new = tuple([self._anywhere(v) for v in old])
            return new if any(a is not b for a, b in zip(old, new, strict=True)) else old
        return old

    def execution(self, execution: ThreadExecution) -> ThreadExecution:
        return replace(
            execution,
            effects=[self.effect(e) for e in execution.effects],
            registers={n: replace(r, value=self(r.value)) for n, r in execution.registers.items()},
            finishes=self(execution.finishes),
            cut=self(execution.cut),
            requirements=[r._replace(guard=self(r.guard), condition=self(r.condition)) for r in execution.requirements],
            cuts=[c._replace(guard=self(c.guard)) for c in execution.cuts],
            stuck=self._waiting(execution.stuck),
            repeating=self._waiting(execution.repeating),
            control=self._anywhere(execution.control),
            iterations=[*map(self._iteration, execution.iterations)],
        )

    def _iteration(self, iteration: Iteration) -> Iteration:
        memory = None if iteration.memory is None else iteration.memory.mapped(self)
        values = tuple([(self(value), self(defined)) for value, defined in iteration.values])
        return iteration._replace(guard=self(iteration.guard), values=values, memory=memory)

    def _waiting(self, stuck: Sequence[Stuck]) -> list[Stuck]:
        return [s._replace(guard=self(s.guard), repeats=self(s.repeats)) for s in stuck]


_KNOWN = frozenset((int, str, bool, type(None)))
#: What values an effect has are in.
FIELDS = [
    f.name
    for f in fields(Effect)
    if f.name not in ("index", "kind", "instruction", "result", "combine", "how", "spaces", "met", "mates")
]
