"""Random programs and random executions of them, many of them nearly consistent.

An execution is drawn by running the threads in some order, one operation at a time, on one memory; a few of its choices
are then changed. What is drawn need not make sense as a run of the program (a branch need not go where its condition says):
models judge events and relations, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from axioms.program import Event, Program
from axioms.witness.candidate import Candidate
from axioms.witness.judge import ModelChecker
from litmus.formats import read
from ptxmm.pipeline import build

_SCOPES = ("cta", "cluster", "gpu", "gpu", "sys")
_PLACES = (
    ("cta 0", "cta 0", "cta 0"),
    ("cta 0", "cta 0", "cta 0"),
    ("cta 0", "cta 1", "cta 1"),
    ("cta 0", "cta 0", "cta 1"),
    ("cta 0", "cta 1", "cta 2"),
    ("cta 0,cluster 0", "cta 1,cluster 0", "cta 2,cluster 1"),
    ("cta 0,cluster 0", "cta 1,cluster 1", "cta 0,cluster 0"),
    ("cta 0,gpu 0", "cta 1,gpu 1", "cta 2,gpu 0"),
    ("cta 0,gpu 0", "host", "cta 0,gpu 0"),
)
_LOADS = {"generic": "ld", "surface": "suld", "texture": "tld", "constant": "cold"}


class _Thread:
    """Writes one thread, typed or in the short dialect."""

    def __init__(
        self, rng: Random, typed: bool, names: dict[str, str], scopes: tuple[str, ...], barriers: bool, host: bool
    ) -> None:
        self.rng, self.typed, self.names, self.scopes, self.host = rng, typed, names, scopes, host
        self.barriers = barriers and not host
        self.lines: list[str] = []
        self.registers = 0
        self.labels = 0
        self.flag = False  # whether accesses are to the flag
        self.only = ""  # the one name that accesses are to
        #: Threads say much about one or two locations, so that they meet.
        self.favourites = rng.sample(sorted(names), min(2, len(names)))

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def scope(self) -> str:
        return "sys" if self.host and self.rng.random() < 0.7 else self.pick(*self.scopes)

    def name(self) -> str:
        if self.flag:
            return self.pick("y", "y", "y", "y", *(n for n in self.names if self.names[n] in ("generic", "surface")))
        if self.only:
            return self.only
        return self.rng.choice(self.favourites if self.rng.random() < 0.6 else sorted(self.names))

    def register(self) -> str:
        self.registers += 1
        return f"{'%' if self.typed else ''}r{self.registers - 1}"

    def value(self) -> str:
        if self.registers and self.rng.random() < 0.35:
            return f"{'%' if self.typed else ''}r{self.rng.randrange(self.registers)}"
        return self.pick("1", "2", "3")

    def qualified(self, *semantics: str) -> str:
        word = self.pick(*semantics)
        return f".{word}" if word in ("weak", "volatile", "mmio.relaxed.sys") else f".{word}.{self.scope()}"

    def address(self, name: str) -> str:
        return f"[{name}]" if self.typed else name

    def access(self, guard: str = "") -> None:
        name, kind = self.name(), ".u32" if self.typed else ""
        more = ("volatile", "mmio.relaxed.sys") if self.typed else ()
        proxy = self.names[name]
        if self.rng.random() < 0.5 and proxy in ("generic", "surface") and not (self.typed and proxy != "generic"):
            store = "st" if proxy == "generic" else "sust"
            how = self.qualified("weak", "weak", "relaxed", "relaxed", "release", "release", *more)
            value = self.value()
            self.lines.append(f"{guard}{store}{how}{kind} {self.address(name)}, {value}")
        else:
            how = self.qualified("weak", "weak", "relaxed", "relaxed", "acquire", "acquire", *more)
            self.lines.append(f"{guard}{_LOADS[proxy]}{how}{kind} {self.register()}, {self.address(name)}")

    def atomic(self, guard: str = "") -> None:
        name = self.name()
        surface = self.names[name] == "surface"
        if self.names[name] not in ("generic", "surface"):
            return self.access(guard)
        semantics = self.pick("relaxed", "acquire", "release", "acq_rel")
        scope, value = self.scope(), self.value()
        if self.typed:
            return self._typed_atomic(guard, name, semantics, scope, value)
        prefix = "su" if surface else ""
        if self.rng.random() < 0.35:
            self.lines.append(f"{prefix}red.{semantics}.{scope}.add {name}, {value}")
        else:
            op = self.pick("add", "exch", "cas")
            operands = f"{self.pick('0', '1')}, {value}" if op == "cas" else value
            self.lines.append(f"{prefix}atom.{semantics}.{scope}.{op} {self.register()}, {name}, {operands}")

    def _typed_atomic(self, guard: str, name: str, semantics: str, scope: str, value: str) -> None:
        how = self.pick("", f".{semantics}.{scope}", f".{semantics}.{scope}", f".{semantics}", f".{scope}")
        kind = self.rng.random()
        if kind < 0.25:
            weaker = how.replace("acquire", "relaxed").replace("acq_rel", "release")
            self.lines.append(f"{guard}red{weaker}.add.u32 [{name}], {value}")
        elif kind < 0.45:
            self.lines.append(f"{guard}atom{how}.add.u32 _, [{name}], {value}")
        else:
            op, operands = self.rng.choice((("add.u32", value), ("exch.b32", value), ("cas.b32", f"0, {value}")))
            self.lines.append(f"{guard}atom{how}.{op} {self.register()}, [{name}], {operands}")

    def fence(self) -> None:
        if len(self.names) > 2 and self.rng.random() < 0.6:
            kinds = ["alias"] if self.typed else ["alias", "alias", *dict.fromkeys(self.names.values())]
            return self.lines.append(f"fence.proxy.{self.rng.choice(kinds)}")
        if self.typed and self.rng.random() < 0.15:
            return self.lines.append(f"membar.{self.pick('cta', 'gl', 'sys')}")
        semantics = [".sc", ".sc", ".acq_rel", ".acquire", ".release", *([""] if self.typed else [])]
        self.lines.append(f"fence{self.pick(*semantics)}.{self.scope()}")

    def barrier(self) -> None:
        if self.typed:
            how = self.pick("bar.sync 0", "bar.sync 0", "bar.sync 1, 64", "bar.arrive 1, 64")
            return self.lines.append(how)
        self.lines.append(f"bar.cta.{self.pick('sync', 'sync', 'arrive')} {self.pick('0', '0', '1')}")

    def guarded(self) -> None:
        """An access that depends on a register by control."""
        if not self.registers:
            return self.access()
        register = f"{'%' if self.typed else ''}r{self.rng.randrange(self.registers)}"
        if self.typed:
            self.lines.append(f"setp.eq.u32 %p0, {register}, 1")
            name = self.rng.choice([n for n, p in self.names.items() if p == "generic"])
            return self.lines.append(f"@%p0 st.relaxed.{self.scope()}.u32 [{name}], 1")
        self.labels += 1
        self.lines.append(f"bne {register}, 1, LC0{self.labels}")
        self.access()
        self.lines.append(f"LC0{self.labels}:")

    # What programs synchronise by, more or less as it should be.

    def datum(self, before: bool) -> None:
        """An access to the data, perhaps with the proxy fences on its inner side that it takes."""
        name = self.pick("x", *(n for n in self.names if n != "y"))
        proxies = [p for p in self.names.values() if p != "generic"]
        fences = []
        if proxies and not self.typed and self.rng.random() < 0.7:
            fences.append(self.names[name] if self.rng.random() < 0.6 else self.rng.choice(proxies))
        if len(self.names) > 2 and self.rng.random() < 0.4:
            fences.append("alias")
        if self.rng.random() < 0.1:
            fences.reverse()
        lines = [f"fence.proxy.{f}" for f in fences if f != "generic"]
        if not before:
            self.lines += reversed(lines)
        self.only = name
        self.access()
        self.only = ""
        if before:
            self.lines += lines

    def order(self, *semantics: str) -> None:
        self.lines.append(f"fence.{self.pick(*semantics)}.{self.scope()}")

    def flagged(self, kind: str, *semantics: str) -> None:
        """An access to the flag: `ld`, `st`, or `atom`, which may be a reduction."""
        self.flag = True
        how, name = self.pick(*semantics), self.name()
        prefix = "su" if self.names[name] == "surface" else ""
        type_, address = (".u32" if self.typed else ""), self.address(name)
        opcode, value = kind, self.value()
        if kind == "atom":
            sink = self.rng.random()
            if sink < 0.3 and not (self.typed and how in ("acquire", "acq_rel")):
                opcode, operands = "red", f"{address}, {value}"
            elif sink < 0.45 and self.typed:
                operands = f"_, {address}, {value}"
            else:
                operands = f"{self.register()}, {address}, {value}"
            self.lines.append(f"{prefix}{opcode}.{how}.{self.scope()}.add{type_} {operands}")
        else:
            operands = f"{self.register()}, {address}" if kind == "ld" else f"{address}, {value}"
            opcode = f"{prefix}{kind}"
            self.lines.append(f"{opcode}.{how}{'' if how == 'weak' else f'.{self.scope()}'}{type_} {operands}")
        self.flag = False

    def publish(self) -> None:
        self.datum(before=True)
        kind = self.rng.random()
        if kind < 0.3:
            self.flagged(self.pick("st", "st", "atom"), "release")
        elif kind < 0.6:
            self.order("release", "release", "acq_rel", "sc", "acquire")
            self.flagged(self.pick("st", "st", "atom"), "relaxed")
        else:
            self.flagged(self.pick("st", "st", "atom"), "release")
            self.flagged(self.pick("st", "st", "atom"), "relaxed")

    def consume(self) -> None:
        kind = self.rng.random()
        if kind < 0.3:
            self.flagged(self.pick("ld", "ld", "atom"), "acquire")
        elif kind < 0.6:
            self.flagged(self.pick("ld", "atom"), "relaxed")
            self.order("acquire", "acquire", "acq_rel", "sc", "release")
        else:
            self.flagged(self.pick("ld", "atom"), "relaxed")
            self.flagged(self.pick("ld", "ld", "atom"), "acquire")
        self.datum(before=False)

    def relay(self) -> None:
        self.flagged("atom", "relaxed", "relaxed", "acquire", "release", "acq_rel")

    def buffer(self) -> None:
        self.datum(before=True)
        self.order("sc")
        self.access()

    def meet(self) -> None:
        self.datum(before=True)
        if self.barriers:
            self.barrier()
        self.datum(before=False)

    def text(self, steps: int, idioms: bool) -> str:
        kinds = [self.access] * 8 + [self.atomic] * 4 + [self.fence] * 5 + [self.guarded]
        if self.barriers:
            kinds += [self.barrier] * 6
        if idioms:
            for _ in range(self.rng.choice((1, 1, 2))):
                self.rng.choice((self.publish, self.consume, self.relay, self.buffer, self.meet))()
            steps = self.rng.randrange(2)
        # An access for sure: it tells a reader which dialect this is.
        for step in range(steps):
            self.rng.choice(kinds)() if step or idioms else self.access()
        return "\n  ".join(l if l.endswith(":") else f"{l};" for l in self.lines)


def random_test(rng: Random, plain: bool) -> str:
    """The text of a test. `plain`: without proxies and aliases."""
    count = rng.choice((2, 2, 3))
    places = list(rng.choice(_PLACES)[:count])
    names = {"x": "generic", "y": "generic"}
    init = ["x=0;", "y=0;"]
    if not plain:
        for name, proxy in rng.sample(
            (
                ("s", "surface"),
                ("u", "surface"),
                ("t", "texture"),
                ("c", "constant"),
                ("a", "generic"),
                ("a", "generic"),
            ),
            rng.choice((1, 2, 3)),
        ):
            if name not in names:
                init.append(f"{name} @ {proxy} aliases {rng.choice([n for n in ('x', 'x', 'y', 'a') if n in names])};")
                names[name] = proxy
    barriers, idioms = rng.random() < 0.3, rng.random() < 0.8
    # Mostly wide enough, mostly of two kinds.
    scopes = (rng.choice(("sys", "gpu")),) * rng.choice((3, 8)) + (rng.choice(_SCOPES),)
    blocks = []
    for t, place in enumerate(places):
        typed = rng.random() < (0.5 if plain else 0.2)
        mine = {n: p for n, p in names.items() if p == "generic"} if typed else names
        writer = _Thread(rng, typed, mine, scopes, barriers, place == "host")
        blocks.append(f"P{t}@{place} {{\n  {writer.text(rng.randint(2, 5 if count == 2 else 4), idioms)}\n}}")
    return "\n".join(["PTX random", f"{{ {' '.join(init)} }}", *blocks, "exists (true)", ""])


def random_program(rng: Random, plain: bool) -> tuple[str, Program]:
    text = random_test(rng, plain)
    return text, build(read(text, "random.litmus"))


class Draws:
    """Executions of one program, drawn at random."""

    def __init__(self, rng: Random, program: Program, judge: ModelChecker) -> None:
        self.rng, self.program, self.judge = rng, program, judge

    def draw(self) -> Candidate:
        rng = self.rng
        executed = self._executed()
        order = self._interleaving(executed)
        rf = self._last_writes(order)
        others = list(order)
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
            change = rng.random()
            if change < 0.45:
                self._change_rf(rf, executed)
            elif change < 0.85:
                _swap_some(rng, order)
            else:
                _swap_some(rng, others)
        if rng.random() < 0.15:
            others = self._interleaving(executed)
        barriers = list(self._barriers(executed))
        fences = self._interleaving(executed) if rng.random() < 0.2 else order
        return Candidate(
            self.judge,
            executed,
            {r: (w,) for r, w in rf.items()},
            self._coherence(order, others),
            self._fence_order(fences, others),
            barriers,
        )

    def _executed(self) -> list[bool]:
        """Which events happen: what is guarded by a value, a coin decides."""
        coins: dict[int, bool] = {}
        executed = []
        for e in self.program.events:
            happens = True
            if e.effect is not None and e.effect.guard != 1:
                happens = coins.setdefault(id(e.effect), self.rng.random() < 0.7)
            if happens and e.kind == "W" and e.partner is not None and e.effect is not None and e.effect.writes != 1:
                happens = self.rng.random() < 0.7
            executed.append(happens)
        return executed

    def _interleaving(self, executed: list[bool]) -> list[Event]:
        """The operations in an order that respects program order. Atomic ones stay whole, barriers wait where they can."""
        events = [e for e in self.program.events if executed[e.index]]
        order = [e for e in events if e.thread < 0]
        queues: dict[int, list[Event]] = {}
        for e in events:
            if e.thread >= 0:
                queues.setdefault(e.thread, []).append(e)
        arrivals = {self._group(e) for e in events if "BA" in e.tags}
        missing = {g: sum("BA" in e.tags and self._group(e) == g for e in events) for g in arrivals}
        t = -1
        while queues:
            ready = [
                t for t, queue in queues.items() if "BW" not in queue[0].tags or not missing[self._group(queue[0])]
            ]
            if t not in ready or self.rng.random() < 0.3:
                t = self.rng.choice(ready or list(queues))
            queue = queues[t]
            while True:
                e = queue.pop(0)
                order.append(e)
                if "BA" in e.tags:
                    missing[self._group(e)] -= 1
                if e.kind != "R" or e.partner is None or not queue or queue[0] is not e.partner:
                    break
            if not queue:
                del queues[t]
        return order

    def _group(self, e: Event) -> tuple[object, ...]:
        effect = e.effect
        assert effect is not None
        return self.program.threads[e.thread].place.cta, effect.instance, effect.identity

    def _last_writes(self, order: list[Event]) -> dict[int, int]:
        memory: dict[int, int] = {}
        rf = {}
        for e in order:
            if e.kind == "R":
                rf[e.index] = memory[e.cell]
            elif e.kind == "W":
                memory[e.cell] = e.index
        return rf

    def _change_rf(self, rf: dict[int, int], executed: list[bool]) -> None:
        if rf:
            r = self.program.events[self.rng.choice(list(rf))]
            writes = [
                w.index
                for w in self.program.events
                if w.kind == "W" and w.cell == r.cell and executed[w.index] and w is not r.partner
            ]
            rf[r.index] = self.rng.choice(writes)

    def _coherence(self, order: list[Event], others: list[Event]) -> list[int]:
        """What two orders have in common, initial writes first."""
        first, second = ({e.index: n for n, e in enumerate(o)} for o in (order, others))
        rows = [0] * self.program.size
        for a in order:
            for b in order:
                if a.kind == b.kind == "W" and a.cell == b.cell and a is not b and b.thread >= 0:
                    both = first[a.index] < first[b.index] and second[a.index] < second[b.index]
                    if a.thread < 0 or both:
                        rows[a.index] |= 1 << b.index
        return rows

    def _fence_order(self, order: list[Event], others: list[Event]) -> list[int]:
        """A strict order of the fence.sc events that relates what `sr` does, and perhaps nothing more."""
        first, second = ({e.index: n for n, e in enumerate(o)} for o in (order, others))
        fences = [e.index for e in order if "SC" in e.tags]
        total, partial = [0] * self.program.size, [0] * self.program.size
        for a in fences:
            for b in fences:
                if first[a] < first[b]:
                    total[a] |= 1 << b
                    if second[a] < second[b]:
                        partial[a] |= 1 << b
        sr = self.program.relations["sr"]
        enough = all(
            (partial[a] >> b | partial[b] >> a) & 1 for a in fences for b in fences if a != b and sr[a] >> b & 1
        )
        return partial if enough else total

    def _barriers(self, executed: list[bool]) -> Iterator[tuple[int, int]]:
        """Arrivals and waits of one barrier, each time that its threads come to it; now and then of too few of them."""
        times: dict[tuple[int, object], int] = {}
        members: dict[object, tuple[list[int], list[int]]] = {}
        for e in self.program.events:
            if executed[e.index] and e.kind == "B":
                group = self._group(e)
                turn = times.setdefault((e.thread, group), 0)
                arrivals, waits = members.setdefault((group, turn), ([], []))
                (arrivals if "BA" in e.tags else waits).append(e.index)
                effect = self.program.by_effect[e.thread][e.effect.index]  # type: ignore[union-attr]
                if e is effect[-1]:
                    times[e.thread, group] += 1
        for arrivals, waits in members.values():
            if self.rng.random() < 0.9:
                yield from ((i, j) for i in arrivals for j in waits)


def _swap_some(rng: Random, order: list[Event]) -> None:
    """Moves one operation that is not an initial write to another place."""
    movable = [n for n, e in enumerate(order) if e.thread >= 0]
    if len(movable) > 1:
        e = order.pop(rng.choice(movable))
        order.insert(rng.choice([n for n in movable if n <= len(order)]), e)


__all__ = ["Draws", "random_program", "random_test"]
