"""The strongly connected parts of a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

S = TypeVar("S", bound=Hashable)


def strongly_connected(states: Iterable[S], following: Callable[[S], Iterable[S]]) -> list[list[S]]:
    """The strongly connected parts of a graph, those first from which no other is reached (Tarjan, over an explicit stack)."""
    number: dict[S, int] = {}
    low: dict[S, int] = {}
    open_: list[S] = []
    placed: set[S] = set()
    found: list[list[S]] = []
    for root in states:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        open_.append(root)
        stack = [(root, iter(following(root)))]
        while stack:
            state, rest = stack[-1]
            for to in rest:
                if to not in number:
                    number[to] = low[to] = len(number)
                    open_.append(to)
                    stack.append((to, iter(following(to))))
                    break
                if to not in placed:
                    low[state] = min(low[state], number[to])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[state])
                if low[state] == number[state]:
                    part = open_[open_.index(state) :]
                    del open_[-len(part) :]
                    placed.update(part)
                    found.append(part)
    return found
