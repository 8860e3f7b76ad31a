"""Where `--find` looks: families of tests that come by size, and what is said of them when nothing was found there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ptxmm.comparing.columns import Case
from ptxmm.comparing.finding import by_size, library


@dataclass(frozen=True)
class Universe:
    """The tests that ship, of any size."""

    size: int

    @cached_property
    def shipped(self) -> tuple[Case, ...]:
        return library()

    def cases(self) -> Iterator[Case]:
        """The tests, by size."""
        yield from by_size(self.shipped)

    def __str__(self) -> str:
        return f"the {len(self.shipped)} tests that ship"


def universe(size: int) -> Universe:
    """What is looked at unless told otherwise."""
    return Universe(size)
