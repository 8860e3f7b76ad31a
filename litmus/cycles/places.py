"""Where the threads of a cycle stand: every way up to the names of CTAs, clusters and GPUs, and up to rotation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from ptxcore.places import Placement

#: A placement: for each thread its CTA, cluster and GPU, each counted from 0 in the order of the threads.
CyclePlacement = tuple[tuple[int, int, int], ...]
#: The placements in which all pairs of threads are equally far from each other, by the narrowest scope that takes them in.
UNIFORM = ("cta", "cluster", "gpu", "sys")
#: Of so many threads all placements are enumerated: of 7 there are 146,115, of 8 nearly two million.
MOST_PLACED = 7
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def uniform(scope: str, count: int) -> CyclePlacement:
    """All threads of a test as near to each other as `scope` says: `gpu` has each in a CTA and cluster of its own."""
    cta, cluster, gpu = (scope == "cta", scope in ("cta", "cluster"), scope != "sys")
    return tuple((0 if cta else i, 0 if cluster else i, 0 if gpu else i) for i in range(count))


@lru_cache(maxsize=64)
def placements(count: int, symmetries: tuple[tuple[int, ...], ...] = ()) -> tuple[CyclePlacement, ...]:
    """Every placement of so many threads, each once up to the names of CTAs, clusters and GPUs and up to `symmetries`:
    permutations of the threads under which the test stays the same. That with all threads on one GPU apart comes first.
    Raises `ValueError` for more threads than `MOST_PLACED`."""
    if count > MOST_PLACED:
        raise ValueError(f"there are millions of ways to place {count} threads: all are told of at most {MOST_PLACED}")
    first = uniform("gpu", count)
    rest = sorted(set(_all(count)) - {first})
    found: list[CyclePlacement] = []
    seen: set[CyclePlacement] = set()
    for placement in (first, *rest):
        if placement in seen:
            continue
        found.append(placement)
        seen.add(placement)
        seen.update(_renamed([placement[i] for i in permutation]) for permutation in symmetries)
    return tuple(found)


def _all(count: int) -> Iterator[CyclePlacement]:
    def extend(so_far: tuple[tuple[int, int, int], ...]) -> Iterator[CyclePlacement]:
        if len(so_far) == count:
            yield so_far
            return
        seen = dict.fromkeys(so_far)
        gpus = max((g for _, _, g in so_far), default=-1)
        clusters = max((c for _, c, _ in so_far), default=-1)
        ctas = max((b for b, _, _ in so_far), default=-1)
        for place in seen:
            yield from extend((*so_far, place))
        for cluster, gpu in dict.fromkeys((c, g) for _, c, g in so_far):
            yield from extend((*so_far, (ctas + 1, cluster, gpu)))
        for gpu in range(gpus + 2):
            yield from extend((*so_far, (ctas + 1, clusters + 1, gpu)))

    return extend(())


def _renamed(placement: Sequence[tuple[int, int, int]]) -> CyclePlacement:
    """The same placement with CTAs, clusters and GPUs counted in the order of its threads."""
    ctas, clusters, gpus = (
        {number: n for n, number in enumerate(dict.fromkeys(level))} for level in zip(*placement, strict=True)
    )
    return tuple((ctas[cta], clusters[cluster], gpus[gpu]) for cta, cluster, gpu in placement)


def same_places(where: Sequence[Placement]) -> CyclePlacement:
    """The placement of threads that stand at these places; warps do not count."""
    return _renamed([(place.cta, place.cluster, place.gpu) for place in where])


def rotations(items: Sequence[object]) -> tuple[tuple[int, ...], ...]:
    """The rotations, but for none at all, that leave a sequence as it is, as permutations of its positions."""
    count = len(items)
    steps = [s for s in range(1, count) if list(items[s:]) + list(items[:s]) == list(items)]
    return tuple(tuple((i + step) % count for i in range(count)) for step in steps)


@lru_cache(maxsize=1024)
def label(placement: CyclePlacement) -> str:
    """How a placement is written in the name of a test: `@cta`; `@01-2` where threads 0 and 1 share a CTA and 2 is elsewhere
    on the GPU. Between CTAs of a cluster stands `_`, between GPUs `--`. Nothing where each thread is apart on one GPU."""
    count = len(placement)
    if placement == uniform("gpu", count):
        return ""
    for scope in UNIFORM:
        if placement == uniform(scope, count):
            return f"@{scope}"
    return "@" + "--".join(
        "-".join(
            "_".join(
                "".join(_DIGITS[i] for i in range(count) if placement[i][0] == cta)
                for cta in dict.fromkeys(p[0] for p in placement if p[1] == cluster)
            )
            for cluster in dict.fromkeys(p[1] for p in placement if p[2] == gpu)
        )
        for gpu in dict.fromkeys(p[2] for p in placement)
    )


def read_label(text: str, count: int) -> CyclePlacement:
    """The placement that a label without its `@` writes, for so many threads. Raises `ValueError` for what is none."""
    if text in UNIFORM:
        return uniform(text, count)
    numbers = [0, 0, 0]
    found: dict[int, tuple[int, int, int]] = {}
    twice = False
    for gpu, one in enumerate(text.split("--")):
        for cluster in one.split("-"):
            for cta in cluster.split("_"):
                for digit in cta:
                    twice |= _DIGITS.find(digit) in found
                    found[_DIGITS.find(digit)] = (numbers[0], numbers[1], gpu)
                numbers[0] += 1
            numbers[1] += 1
    if twice or sorted(found) != list(range(count)):
        raise ValueError(
            f"'{text}' does not place {count} threads, each once: one of {', '.join(UNIFORM)}, or as in 01-2"
        )
    return _renamed([found[i] for i in range(count)])


def is_label(text: str) -> bool:
    """Whether a label without its `@` places threads, however many."""
    threads = sum(text.count(digit) for digit in _DIGITS)
    try:
        read_label(text, threads)
    except ValueError:
        return False
    return threads > 0


def nearest(together: Sequence[tuple[int, int, str]], count: int) -> CyclePlacement:
    """All threads on one GPU, apart but for pairs that have to share a CTA or a cluster."""
    placement = [list(one) for one in uniform("gpu", count)]
    for a, b, scope in together:
        for level in (0, 1) if scope == "cta" else (1,):
            old, new = placement[b][level], placement[a][level]
            for place in placement:
                if place[level] == old:
                    place[level] = new
    return _renamed([(cta, cluster, gpu) for cta, cluster, gpu in placement])


@lru_cache(maxsize=1024)
def places(placement: CyclePlacement) -> tuple[Placement, ...]:
    """The places of the threads, each in a warp of its own."""
    return tuple(Placement(i, cta, cluster, gpu) for i, (cta, cluster, gpu) in enumerate(placement))
