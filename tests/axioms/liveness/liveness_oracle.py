"""Livelock, by brute force: an interpreter of its own for loops of loads, stores and exchanges, the graph of all
states, and fairness as the definition has it.

It shares with what it is compared with the reader of tests, and nothing else: its steps are instructions, its states all
registers. Memory is sequentially consistent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import networkx as nx

from litmus.test import Test
from ptxcore.syntax.tree import Immediate, Instruction, Label, Name

State = tuple[tuple[int, ...], tuple[tuple[int, ...], ...], tuple[int, ...], tuple[bool, ...]]


class Code(NamedTuple):
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]


def _code(statements: tuple[object, ...]) -> Code:
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    for s in statements:
        if isinstance(s, Label):
            labels[s.name] = len(instructions)
        elif isinstance(s, Instruction):
            instructions.append(s)
    return Code(tuple(instructions), labels)


class Oracle:
    """The states of a test. Raises KeyError and ValueError for what it does not know."""

    def __init__(self, test: Test, resident: int | None = None) -> None:
        self.places = [t.place for t in test.threads]
        self.resident = resident
        self.codes = [_code(t.statements) for t in test.threads]
        self.locations = {l.name: i for i, l in enumerate(test.locations)}
        self.registers: list[dict[str, int]] = []
        for t, code in enumerate(self.codes):
            names = [r for r, _ in test.threads[t].registers]
            names += [o.name for i in code.instructions for o in i.operands if isinstance(o, Name)]
            unknown = [n for n in dict.fromkeys(names) if n not in self.locations and n not in code.labels]
            self.registers.append({n: i for i, n in enumerate(unknown)})
        values = []
        for t, thread in enumerate(test.threads):
            given = {name: int(value) for name, value in thread.registers if isinstance(value, int)}
            values.append(tuple(given.get(name, 0) for name in self.registers[t]))
        memory = tuple(int(l.initial[0]) for l in test.locations)  # type: ignore[call-overload]
        first: State = (0,) * len(self.codes), tuple(values), memory, (False,) * len(self.codes)
        self.graph = nx.MultiDiGraph()
        waiting = [first]
        while waiting:
            state = waiting.pop()
            for t, to in self._steps(state):
                if to not in self.graph:
                    waiting.append(to)
                self.graph.add_edge(state, to, thread=t)
        self.parts = [self.graph.subgraph(c) for c in nx.strongly_connected_components(self.graph)]

    def terminates(self, progress: str) -> bool:
        """Whether every execution terminates."""
        for part in self.parts:
            moving = {t for _, _, t in part.edges(data="thread")}
            if not moving:
                continue
            state = next(iter(part))
            if all(t in moving or not self._is_fair(t, state, progress) for t in self._able(state)):
                return False
        return True

    def _ended(self, state: State, t: int) -> bool:
        return state[0][t] >= len(self.codes[t].instructions)

    def _able(self, state: State) -> list[int]:
        """The threads that can make a step."""
        threads = [t for t in range(len(self.codes)) if not self._ended(state, t)]
        if self.resident is None:
            return threads
        ctas: dict[int, list[int]] = {}
        for t, place in enumerate(self.places):
            ctas.setdefault(place.cta, []).append(t)
        running = [
            c for c, ts in ctas.items() if any(state[3][t] for t in ts) and not all(self._ended(state, t) for t in ts)
        ]
        return [t for t in threads if self.places[t].cta in running or len(running) < self.resident]

    def _is_fair(self, t: int, state: State, progress: str) -> bool:
        able, begun = self._able(state), state[3]
        return {
            "fair": True,
            "hsa": t == min(able),
            "obe": begun[t],
            "hsa_obe": t == min(able) or begun[t],
            "lobe": any(begun[u] for u in range(t, len(begun))),
            "unfair": False,
        }[progress]

    def _steps(self, state: State) -> Iterator[tuple[int, State]]:
        for t in self._able(state):
            counters, registers, memory, begun = state
            own, held = list(registers[t]), list(memory)
            at = self._execute(t, counters[t], own, held)
            yield (
                t,
                (
                    (*counters[:t], at, *counters[t + 1 :]),
                    (*registers[:t], tuple(own), *registers[t + 1 :]),
                    tuple(held),
                    (*begun[:t], True, *begun[t + 1 :]),
                ),
            )

    def _execute(self, t: int, at: int, own: list[int], held: list[int]) -> int:
        """Executes an instruction; gives where the thread goes on."""
        code = self.codes[t]
        instruction = code.instructions[at]
        names, operands = self.registers[t], instruction.operands

        def value(operand: object) -> int:
            if isinstance(operand, Immediate):
                return int(operand.value)
            assert isinstance(operand, Name)
            return own[names[operand.name]]

        def name(i: int) -> str:
            operand = operands[i]
            assert isinstance(operand, Name)
            return operand.name

        word = instruction.opcode
        if word == "goto":
            return code.labels[name(0)]
        if word in ("beq", "bne"):
            return code.labels[name(2)] if (value(operands[0]) == value(operands[1])) == (word == "beq") else at + 1
        if word == "ld":
            own[names[name(0)]] = held[self.locations[name(1)]]
        elif word == "st":
            held[self.locations[name(0)]] = value(operands[1])
        elif word == "atom":
            there = self.locations[name(1)]
            old = held[there]
            if "exch" in instruction.modifiers:
                held[there] = value(operands[2])
            elif "cas" in instruction.modifiers:
                held[there] = value(operands[3]) if old == value(operands[2]) else old
            elif "and" in instruction.modifiers:
                held[there] = old & value(operands[2])
            elif "or" in instruction.modifiers:
                held[there] = old | value(operands[2])
            else:
                raise ValueError(instruction.modifiers)
            own[names[name(0)]] = old
        else:
            raise ValueError(word)
        return at + 1
