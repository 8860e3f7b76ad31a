"""Small programs that use two features of the model together, generated: what the engines are compared on.

The statements of both features are woven into the same two or three threads, beat by beat. Who stands where follows from what
the threads of the features have in common: a warp, a CTA, a cluster, or nothing; some threads belong to the next kernel, to the
host, or are written in the short dialect.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

from generated import WORD_OF, Location, World, Writer
from hypothesis import strategies as st
from pair_features import FEATURES, Feature
from pair_side import MEMORY, Beat, Side

PAIRS = tuple(itertools.combinations_with_replacement(FEATURES, 2))

#: Where two threads stand of which nothing is asked.
_PLACES = (
    ("cta 0", "cta 0"),
    ("cta 0", "cta 0"),
    ("cta 0", "cta 1"),
    ("cta 0", "cta 1"),
    ("cta 0,cluster 0", "cta 1,cluster 0"),
    ("cta 0,gpu 0", "cta 1,gpu 1"),
)


@dataclass(slots=True)
class _Cast:
    """The threads of a program, and of each bond the two that have it."""

    places: list[str]
    bonds: dict[str, tuple[int, int]]
    kernels: list[str] = field(default_factory=list)

    def of_place(self, level: str) -> list[int]:
        """The number that each thread has at a level; where none is written, one of its own."""
        found = [re.search(rf"\b{level} (\d+)", place) for place in self.places]
        return [int(f[1]) if f else 100 + t for t, f in enumerate(found)]


def _cast(draw: st.DrawFn, bonds: set[str]) -> _Cast:
    local, apart = bonds & {"warp", "cta"}, "cluster" in bonds
    together: tuple[int, int] = (0, 1)
    if local:
        warps = "warp" in bonds or ("cta" in bonds and draw(st.integers(0, 3)) == 0)
        places = ["warp 0,cta 0", "warp 0,cta 0"] if warps else ["cta 0", "cta 0"]
        if apart:
            places = [f"{place},cluster 0" for place in places] + ["cta 1,cluster 0"]
            together = (0, 2)
    elif apart:
        places = ["cta 0,cluster 0", "cta 1,cluster 0"]
    elif "kernels" in bonds:
        places = ["cta 0"]
    else:
        places = list(draw(st.sampled_from(_PLACES[:-1] if "host" in bonds else _PLACES)))
    cast = _Cast(places, {"": (0, 1), "warp": (0, 1), "cta": (0, 1), "cluster": together})
    inside = len(places)
    if "kernels" in bonds:
        cast.bonds["kernels"] = (0, len(places))
        places.append(f"cta {len(places) + 1}")
    if "short" in bonds:
        cast.bonds["short"] = (0, len(places))
        places.append("cta 7")
    others = [t for t in range(len(places)) if t != cast.bonds.get("kernels", (0, -1))[1]]
    if bonds & {"kernels", "host"}:
        cast.kernels.append(f"kernel k1 = [{','.join(f'P{t}' for t in others)}];")
    if "kernels" in bonds:
        stream = draw(st.sampled_from(("", "", "", " stream 1", " stream 1 after k1")))
        cast.kernels.append(f"kernel k2 = [P{inside}]{stream};")
    if "host" in bonds:
        cast.bonds["host"] = (0, len(places))
        places.append("host")
    return cast


@st.composite
def pairs(draw: st.DrawFn, one: Feature, other: Feature) -> str:
    """A program with both features."""
    cast = _cast(draw, {one.bond, other.bond})
    world = World([Location("x", "u32", ["x"]), Location("f", "u32", ["f"])], tuple(cast.places))
    writers = [Writer(draw, world, t) for t in range(len(cast.places))]
    declarations: dict[str, str] = {}
    sides = []
    for number, feature in enumerate((one, other)):
        first, second = cast.bonds[feature.bond]
        if feature.bond in ("", "warp", "cta", "cluster") and draw(st.booleans()):
            first, second = second, first
        sides.append(
            Side(draw, number, first, second, writers, cast.of_place("cta"), cast.of_place("cluster"), declarations)
        )
    bodies = _woven(draw, len(cast.places), one.beats(sides[0]), other.beats(sides[1]))
    return _written(cast, declarations, writers, bodies)


def _woven(draw: st.DrawFn, threads: int, one: list[Beat], other: list[Beat]) -> list[str]:
    """The statements of each thread: the beats of both in one order. Now and then a thread leaves one out."""
    first = set(draw(st.permutations(range(len(one) + len(other))))[: len(one)])
    sources = iter(one), iter(other)
    bodies: list[list[str]] = [[] for _ in range(threads)]
    for i in range(len(one) + len(other)):
        for thread, code in next(sources[i not in first]).items():
            bodies[thread].append(code)
    if draw(st.integers(0, 15)) == 15:
        thread = draw(st.integers(0, threads - 1))
        if len(bodies[thread]) > 2:
            i = draw(st.integers(0, len(bodies[thread]) - 2))
            bodies[thread][i : i + 2] = reversed(bodies[thread][i : i + 2])
    return [" ".join(lines) for lines in bodies]


def _written(cast: _Cast, declarations: dict[str, str], writers: list[Writer], bodies: list[str]) -> str:
    text = " ".join(bodies)
    for name in ("x", "f", "s", "c", "w"):
        if re.search(rf"\[{name}[+\]]|\b{name};|, {name}\b", text) or (
            name == "x" and {"y", "q", "k"} & set(declarations)
        ):
            declarations[name] = MEMORY[name]
    ordered = sorted(declarations.items(), key=lambda item: item[0] in "ykq")
    blocks = []
    for t, (place, writer, body) in enumerate(zip(cast.places, writers, bodies, strict=True)):
        if place == "host":
            body = body.replace("LAUNCH", " ".join(f"launch {k.split()[1]};" for k in cast.kernels), 1).replace(
                "LAUNCH", ""
            )
        known = [f"mov.{WORD_OF[bank]} {r}, 0;" for bank, registers in writer.registers.items() for r in registers]
        typed = not re.search(r"\b(cold|tld|suld|sust)\.", body)
        blocks.append(
            f"P{t}@{place} {{ {' '.join([*(dict.fromkeys([*known, *writer.prelude]) if typed else ()), body])} }}"
        )
    seen = [f"{name}{'[0]' * (name == 'x')};" for name in ("x", "f") if name in declarations]
    listed = [f"locations [{' '.join(seen)}]"] if seen else []
    memory = " ".join([*(text for _, text in ordered), *cast.kernels])
    return "\n".join(["PTX pair", f"{{ {memory} }}", *blocks, *listed, "exists (true)", ""])


def name(one: Feature, other: Feature) -> str:
    return f"{one.name} + {other.name}"


def has_both(text: str, one: Feature, other: Feature) -> bool:
    """Whether the text shows both features; one with itself twice, but for those that all threads share."""
    if one is other and one.bond not in ("kernels", "host", "short"):
        return len(re.findall(one.mark, text)) >= 2
    return all(re.search(feature.mark, text) for feature in (one, other))


__all__ = ["PAIRS", "has_both", "name", "pairs"]
