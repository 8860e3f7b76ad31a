"""Where `--find` looks: families of tests that come by size, and what is said of them when nothing was found there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from ptxcore.records import dataclass
from ptxmm.comparing.columns import Case
from ptxmm.comparing.finding import by_size, library, sized
from ptxmm.kernels.files import NamedTest


@dataclass(frozen=True, slots=True)
class Family:
    """All cycles of some `edges`, of at most `size` of them and of at most `threads` threads, that stand as `places` says.
    `mode` says which edges may follow each other: see `litmus.cycles`."""

    edges: str
    size: int = 6
    threads: int = 4
    places: str = "gpu"
    mode: str = "sc"

    def __str__(self) -> str:
        how = f"mode {self.mode}, at most {self.threads} threads, places {self.places}"
        return f"cycles of at most {self.size} of {self.edges} ({how})"


#: What is looked at unless told otherwise: together some seven thousand tests, which two cores decide within a minute.
FAMILIES = (
    # Orders, fences and dependencies, between accesses of two locations in each thread.
    Family(
        "Rfe,Fre,Coe,Pod**,Pod**.weak,PodWW.weak.rel.gpu,PodRW.rel.gpu,PodRR.acq.gpu.weak,PodRW.acq.gpu,"
        "Fence.sc.gpu,Fence.acq_rel.gpu,DpAddrd*,DpDatadW,DpCtrldW"
    ),
    # One location: coherence, and atomic operations.
    Family("Rfe,Fre,Coe,Rfi,Fri,Coi,Pos**,Pos**.weak,Rmw", mode="uni"),
    # Atomic operations and reductions among others, with what synchronises.
    Family(
        "Rfe,Fre,Coe,Rmw,Pod**,PodWW.rel.gpu,PodRR.acq.gpu,Pod**.red,Fence.acq_rel.gpu,Fence.acquire.gpu",
        5,
        mode="free",
    ),
    # Another virtual address, and the fence for that.
    Family("Rfe,Fre,Coe,Pos**,Pos**.alias,Proxy.alias", 4, mode="free"),
    # Barriers, of threads of one CTA; kernels, one after another.
    Family("Rfe,Fre,Coe,Bard**,Mbard**,Pod**,PodWW.rel.cta,PodRR.acq.cta", 4, places="cta"),
    Family("Rfe,Fre,Coe,Streamd**,Pod**", 4),
)


@dataclass
class Universe:
    """Cycles of some families, and the tests that ship, of any size, where `shipped` says so. `counted` says how many tests of
    each family came up, once they were asked for."""

    families: tuple[Family, ...]
    shipped: bool = True
    counted: Counter[str] = field(default_factory=Counter)

    def cases(self) -> Iterator[Case]:
        """The tests, by size, each once. Raises InputError for what is no edge, ValueError for bounds that there are not."""
        seen: set[int] = set()
        sources = [self._cycles(family) for family in self.families]
        for case, source in by_size(*sources, self._library()):
            assert case.test is not None
            mark = hash((case.test.threads, case.test.locations, case.test.condition))  # type: ignore[union-attr]
            if mark not in seen:
                seen.add(mark)
                self.counted[source] += 1
                yield case

    def _cycles(self, family: Family) -> Iterator[tuple[Case, str]]:
        from litmus.cycles import enumerate as cycles

        found = cycles(
            family.edges,
            size=(1, family.size),
            threads=family.threads,
            places=family.places,
            mode=family.mode,
            one_location=family.mode in ("uni", "free"),
        )
        for test in found:
            size = len(dict(test.meta)["Cycle"].split())
            yield Case(test.name, None, test, size), str(family)

    def _library(self) -> Iterator[tuple[Case, str]]:
        return ((case, _SHIPPED) for case in (library() if self.shipped else ()))

    def __str__(self) -> str:
        """What was looked at so far."""
        parts = [f"{self.counted[str(family)]} {family}" for family in self.families]
        return "; ".join([*parts, *([f"{self.counted[_SHIPPED]} {_SHIPPED}"] if self.shipped else [])])


_SHIPPED = "tests that ship"


def universe(
    size: int, edges: str | None = None, *, threads: int = 4, places: str | None = None, mode: str | None = None
) -> Universe:
    """What is looked at: cycles of at most `size` of `edges`, or without these those of `FAMILIES`, and the tests that ship."""
    if edges is not None:
        return Universe((Family(edges, size, threads, places or "gpu", mode or "sc"),), shipped=False)
    chosen = [replace(f, size=min(f.size, size), threads=threads, places=places or f.places) for f in FAMILIES]
    return Universe(tuple(chosen))


class GivenTests:
    """Litmus tests of files, those of at most `size` accesses. `wrong` tells of those that have no size."""

    def __init__(self, items: Iterable[NamedTest], size: int) -> None:
        self._found, wrong = sized(items, size)
        self._size = size
        self.wrong = [message for _, message in wrong]

    def cases(self) -> Iterator[Case]:
        yield from self._found

    def __str__(self) -> str:
        return f"{len(self._found)} of the tests given, those of at most {self._size} accesses"
