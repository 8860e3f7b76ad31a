"""Where the ways behind a branch come together again: the instruction that each of them comes to next; and what may be executed
from an instruction on."""

from __future__ import annotations

from collections.abc import Iterable

from ptxcore.machine.lower.liveness import following
from ptxcore.machine.lower.ops import Code, Source


class Joins:
    """Of the branches of a launch, by function."""

    def __init__(self) -> None:
        self._after: dict[str, list[int]] = {}

    def of(self, code: Code, place: int) -> int:
        """The number of the first instruction by which all ways behind one go, that of the function's end where there is none
        before it."""
        if code.name not in self._after:
            self._after[code.name] = _postdominators(code)
        after = self._after[code.name]
        common = after[place] & ~(1 << place)
        # Those that all ways go by follow each other: the next one has all others behind it.
        return max(_numbers(common), key=lambda number: after[number].bit_count())

    def between(self, code: Code, place: int) -> frozenset[int]:
        """The numbers of the instructions between a branch and where its ways come together."""
        end, found = self.of(code, place), set[int]()
        waiting = following(code, place)
        while waiting:
            number = waiting.pop()
            if number != end and number < len(code.ops) and number not in found:
                found.add(number)
                waiting += following(code, number)
        return frozenset(found)


def _postdominators(code: Code) -> list[int]:
    """The instructions by which all ways from each one to the end go, as bits; the end is one, too."""
    end = len(code.ops)
    after = [following(code, place) for place in range(end)]
    found = [(1 << end + 1) - 1] * end + [1 << end]
    changed = True
    while changed:
        changed = False
        for place in range(end - 1, -1, -1):
            common = (1 << end + 1) - 1
            for other in after[place]:
                common &= found[other]
            common |= 1 << place
            if common != found[place]:
                found[place], changed = common, True
    return found


def reachable(code: Code, place: int) -> frozenset[int]:
    """The numbers of the instructions that may be executed from one on."""
    found, waiting = set[int](), [place]
    while waiting:
        number = waiting.pop()
        if number < len(code.ops) and number not in found:
            found.add(number)
            waiting += following(code, number)
    return frozenset(found)


def is_in_loop(code: Code, place: int) -> bool:
    """Whether an instruction may be executed again behind it."""
    return any(place in reachable(code, other) for other in following(code, place))


def special_registers(sources: Iterable[Source | None]) -> Iterable[str]:
    """The special registers that an instruction reads."""
    for source in sources:
        if source is not None:
            if source.kind == "special":
                yield source.name
            yield from special_registers(source.parts)


def _numbers(bits: int) -> list[int]:
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


__all__ = ["Joins", "is_in_loop", "reachable", "special_registers"]
