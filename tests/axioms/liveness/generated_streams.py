"""Small launches that wait for one another, at random: kernels on streams, events, threads of the host, programmatic dependent
launch; and their runs, one step after the other, on memory that is sequentially consistent.

A program is data: `litmus` writes it as a test, and `deadlocks` executes it in all orders, and shares nothing with the product.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

PLACES = ("x", "y")


class Step(NamedTuple):
    """`kind`: `store`, `spin` (until the place holds the number), `leave` (the thread ends if it does), `trap`, `barrier`,
    `lets` and `wait` (of a grid), `launch` and `sync` (of the host; the kernel is `number`)."""

    kind: str
    place: str = "x"
    number: int = 1


class Launch(NamedTuple):
    """A kernel: its threads, all of one CTA or each in one of its own, its stream, and the kernels after which it runs."""

    threads: tuple[int, ...]
    together: bool
    stream: int
    after: tuple[int, ...]


class Streams(NamedTuple):
    kernels: tuple[Launch, ...]
    threads: tuple[tuple[Step, ...], ...]  # those behind the kernels' are of the host

    @property
    def hosts(self) -> list[int]:
        inside = {t for k in self.kernels for t in k.threads}
        return [t for t in range(len(self.threads)) if t not in inside]


def program(seed: int) -> Streams:
    """A program of two or three kernels, with a thread of the host or without."""
    some = random.Random(seed)
    kernels: list[Launch] = []
    threads: list[tuple[Step, ...]] = []
    host = some.random() < 0.5
    for number in range(some.choice((2, 2, 3))):
        count = 2 if some.random() < 0.25 else 1
        mine = tuple(range(len(threads), len(threads) + count))
        together = count == 2 and some.random() < 0.5
        after = (some.randrange(number),) if number and some.random() < 0.3 else ()
        kernels.append(Launch(mine, together, some.choice((0, 0, 1)), after))
        threads += [_device(some, together) for _ in range(count)]
    if host:
        threads.append(_host(some, len(kernels)))
    return Streams(tuple(kernels), tuple(threads))


def _device(some: random.Random, together: bool) -> tuple[Step, ...]:
    kinds = {"store": 4, "spin": 3, "leave": 2, "trap": 1, "lets": 1, "wait": 1, "barrier": 2 * together}
    steps = some.choices([*kinds], [*kinds.values()], k=some.choice((1, 1, 2)))
    return tuple(Step(kind, some.choice(PLACES)) for kind in steps)


def _host(some: random.Random, kernels: int) -> tuple[Step, ...]:
    launched = [k for k in range(kernels) if some.random() < 0.4]
    steps = [Step("launch", number=k) for k in launched]  # in the order in which streams run them
    for _ in range(some.choice((1, 2))):
        kind = some.choice(("sync", "sync", "store", "spin"))
        step = Step(kind, some.choice(PLACES), some.randrange(kernels) if kind == "sync" else 1)
        steps.insert(some.randrange(len(steps) + 1), step)
    return tuple(steps)


def litmus(made: Streams, name: str) -> str:
    """The program as a litmus test."""
    lines = [f"PTX {name}", "{ x = 0; y = 0;"]
    for k, kernel in enumerate(made.kernels):
        after = f" after {', '.join(f'k{a}' for a in kernel.after)}" if kernel.after else ""
        lines.append(f"kernel k{k} = [{','.join(f'P{t}' for t in kernel.threads)}] stream {kernel.stream}{after};")
    lines.append("}")
    home = {t: kernel.threads[0] if kernel.together else t for kernel in made.kernels for t in kernel.threads}
    for t, steps in enumerate(made.threads):
        place = "host" if t in made.hosts else f"cta {home[t]},gpu 0"
        lines.append(f"P{t}@{place} {{")
        for i, step in enumerate(steps):
            lines += _written(step, i)
        lines += ["E:", "}"]
    return "\n".join([*lines, "exists (true)", "terminates", ""])


def _written(step: Step, number: int) -> list[str]:
    look = f"ld.relaxed.sys.u32 %r{number}, [{step.place}]; setp"
    label = f"L{number}"
    return {
        "store": [f"st.relaxed.sys.u32 [{step.place}], {step.number};"],
        "spin": [f"{label}: {look}.ne.u32 %p{number}, %r{number}, {step.number}; @%p{number} bra {label};"],
        "leave": [f"{look}.eq.u32 %p{number}, %r{number}, {step.number}; @%p{number} bra E;"],
        "trap": ["trap;"],
        "barrier": ["bar.sync 0;"],
        "lets": ["griddepcontrol.launch_dependents;"],
        "wait": ["griddepcontrol.wait;"],
        "launch": [f"launch k{step.number};"],
        "sync": [f"sync k{step.number};"],
    }[step.kind]


class _State(NamedTuple):
    at: tuple[int, ...]
    memory: tuple[int, ...]
    begun: frozenset[int]  # kernels
    lets: frozenset[int]  # threads that let the next kernel begin


def deadlocks(made: Streams) -> tuple[bool, bool]:
    """Whether some run comes to a point where nobody can go on and somebody has not ended, and whether some run comes to a
    trap. That a kernel begins early is possible, and never promised."""
    steps = _Steps(made)
    first = _State((0,) * len(made.threads), (0,) * len(PLACES), frozenset(), frozenset())
    waiting, seen, stuck, trapped = [first], {first}, False, False
    while waiting:
        state = waiting.pop()
        must = [*steps.steps(state), *steps.beginnings(state, early=False)]
        trapped |= any(steps.traps(state, t) for t in range(len(made.threads)))
        stuck |= not must and not steps.all_ended(state)
        for following in (*must, *steps.beginnings(state, early=True)):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return stuck, trapped


class _Steps:
    def __init__(self, made: Streams) -> None:
        self.made = made
        self.kernel_of = {t: k for k, kernel in enumerate(made.kernels) for t in kernel.threads}
        self.launchers = {
            step.number: (t, i)
            for t in made.hosts
            for i, step in enumerate(made.threads[t])
            if step.kind == "launch"
        }  # fmt: skip

    def ended(self, state: _State, k: int) -> bool:
        return all(state.at[t] == len(self.made.threads[t]) and k in state.begun for t in self.made.kernels[k].threads)

    def all_ended(self, state: _State) -> bool:
        hosts = all(state.at[t] == len(self.made.threads[t]) for t in self.made.hosts)
        return hosts and all(self.ended(state, k) for k in range(len(self.made.kernels)))

    def _previous(self, k: int) -> int | None:
        mine = self.made.kernels[k].stream
        return next((i for i in reversed(range(k)) if self.made.kernels[i].stream == mine), None)

    def beginnings(self, state: _State, *, early: bool) -> Iterator[_State]:
        for k, kernel in enumerate(self.made.kernels):
            previous = self._previous(k)
            launched = k not in self.launchers or state.at[self.launchers[k][0]] > self.launchers[k][1]
            if k in state.begun or not launched or not all(self.ended(state, a) for a in kernel.after):
                continue
            turn = previous is None or self.ended(state, previous)
            if turn or (early and previous is not None and self._lets(state, previous)):
                yield state._replace(begun=state.begun | {k})

    def _lets(self, state: _State, k: int) -> bool:
        kernel = self.made.kernels[k]
        ctas = [kernel.threads] if kernel.together else [(t,) for t in kernel.threads]
        if k not in state.begun:
            return False
        return all(
            not state.lets.isdisjoint(cta) or all(state.at[t] == len(self.made.threads[t]) for t in cta) for cta in ctas
        )

    def traps(self, state: _State, t: int) -> bool:
        steps, at = self.made.threads[t], state.at[t]
        return self._has_begun(state, t) and at < len(steps) and steps[at].kind == "trap"

    def _has_begun(self, state: _State, t: int) -> bool:
        return t not in self.kernel_of or self.kernel_of[t] in state.begun

    def steps(self, state: _State) -> Iterator[_State]:
        for t, steps in enumerate(self.made.threads):
            at = state.at[t]
            if at == len(steps) or not self._has_begun(state, t) or steps[at].kind == "trap":
                continue
            after = self._after(state, t, steps[at])
            if after is not None:
                yield after

    def _after(self, state: _State, t: int, step: Step) -> _State | None:
        """The state after a step; None where it waits."""
        place = PLACES.index(step.place)
        holds = state.memory[place] == step.number
        go = {t: state.at[t] + 1}
        if step.kind == "store":
            memory = (*state.memory[:place], step.number, *state.memory[place + 1 :])
            state = state._replace(memory=memory)
        elif step.kind == "spin" and not holds:
            return None
        elif step.kind == "leave" and holds:
            go = {t: len(self.made.threads[t])}
        elif step.kind == "lets":
            state = state._replace(lets=state.lets | {t})
        elif step.kind == "wait":
            previous = self._previous(self.kernel_of[t])
            if previous is not None and not self.ended(state, previous):
                return None
        elif step.kind == "sync":
            enqueued = step.number not in self.launchers or state.at[t] > self.launchers[step.number][1]
            if enqueued and not self.ended(state, step.number):
                return None
        elif step.kind == "barrier":
            mates = self.made.kernels[self.kernel_of[t]].threads
            if not all(self._is_there(state, u) for u in mates):
                return None
            go = {u: state.at[u] + 1 for u in mates if state.at[u] < len(self.made.threads[u])}
        return state._replace(at=tuple(go.get(u, at) for u, at in enumerate(state.at)))

    def _is_there(self, state: _State, t: int) -> bool:
        steps, at = self.made.threads[t], state.at[t]
        return at == len(steps) or steps[at].kind == "barrier"
