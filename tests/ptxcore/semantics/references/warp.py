"""What threads of a warp do together (sections 9.7.9.5, 9.7.9.6, 9.7.13.2 and 9.7.13.8 to 9.7.13.14).

The one source of these forms is `lanes`: the sources of each thread that takes part, by its number in the warp.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import driver

from ptxcore.isa import data_movement, warp
from ptxcore.isa.barriers import FORMS as BARRIERS
from ptxcore.isa.form import Form, Use

Lanes = dict[int, tuple[int, ...]]


def mask_of(lanes: Any) -> int:
    return sum(1 << lane for lane in lanes)


def vote(how: Use, lanes: Lanes) -> dict[int, int]:
    votes = {sources[0] for sources in lanes.values()}
    answer = {"all": 0 not in votes, "any": 1 in votes, "uni": len(votes) == 1}[how.words["mode"]]
    return {lane: int(answer) for lane in lanes}


def ballot(how: Use, lanes: Lanes) -> dict[int, int]:
    return {lane: mask_of(other for other, sources in lanes.items() if sources[0]) for lane in lanes}


def match(how: Use, lanes: Lanes) -> dict[int, Any]:
    if "any" in how.form.syntax:
        return {x: mask_of(y for y in lanes if lanes[y][0] == lanes[x][0]) for x in lanes}
    same = len({sources[0] for sources in lanes.values()}) == 1
    return {lane: (mask_of(lanes) if same else 0, int(same)) for lane in lanes}


def signed(value: int) -> int:
    return int.from_bytes(value.to_bytes(4, "little"), "little", signed=True)


def redux(how: Use, lanes: Lanes) -> dict[int, int]:
    values = [sources[0] for sources in lanes.values()]
    if how.types[0] == "s32":
        values = [signed(value) for value in values]
    if how.op in ("and", "or", "xor"):
        columns = [[value >> place & 1 for value in values] for place in range(32)]
        decide = {"and": min, "or": max, "xor": lambda bits: sum(bits) % 2}[how.op]
        result = sum(decide(bits) << place for place, bits in enumerate(columns))
    else:
        result = {"add": sum, "min": min, "max": max}[how.op](values)
    return dict.fromkeys(lanes, result % (1 << 32))


def redux_float(how: Use, lanes: Lanes) -> dict[int, int]:
    """By sorting: the number, then the sign, so that -0 stands before +0."""
    values = [sources[0] & (0x7FFFFFFF if "abs" in how.present else 0xFFFFFFFF) for sources in lanes.values()]
    numbers = [value for value in values if value & 0x7FFFFFFF <= 0x7F800000]
    if not numbers or ("NaN" in how.present and len(numbers) < len(values)):
        return dict.fromkeys(lanes, 0x7FFFFFFF)

    def order(bits: int) -> tuple[float, int]:
        return struct.unpack("<f", struct.pack("<I", bits))[0], -(bits >> 31)

    return dict.fromkeys(lanes, (min if how.op == "min" else max)(numbers, key=order))


def shfl(how: Use, lanes: Lanes) -> dict[int, tuple[int, int]]:
    """As the manual's words have it: segments of the warp, and clamp values within them."""
    results = {}
    for lane, (a, b, c, *_) in lanes.items():
        distance, clamp, segments = b % 32, c % 32, c // 256 % 32
        first = lane & segments
        last = first | clamp & ~segments
        mode = how.words["mode"]
        goal = {
            "up": lane - distance,
            "down": lane + distance,
            "bfly": lane ^ distance,
            "idx": first | distance & ~segments,
        }[mode]
        inside = goal >= last if mode == "up" else goal <= last
        results[lane] = (lanes[goal][0] if inside and goal in lanes else a, int(inside))
    return results


def elect(how: Use, lanes: Lanes) -> dict[int, tuple[int, int]]:
    leader = sorted(lanes)[0]
    return {lane: (leader, 1 if lane == leader else 0) for lane in lanes}


_MEANT = {
    warp.vote: vote,
    warp.ballot: ballot,
    warp.match_any: match,
    warp.match_all: match,
    warp.activemask: lambda how, lanes: {lane: mask_of(lanes) for lane in lanes},
    warp.redux: redux,
    warp.redux_float: redux_float,
    warp.elect: elect,
    data_movement.shfl: shfl,
}

FORMS: list[Form] = [form for form in (*warp.FORMS, *data_movement.FORMS) if form.kind == "warp"]

REFERENCES = {(form.section, form.syntax): _MEANT[form.meaning] for form in FORMS}

EXPLAINED = {
    (form.section, form.syntax): "has no result; test_barriers.py says who waits" for form in BARRIERS if form.run
}


def draw_lanes(how: Use, chance: random.Random) -> tuple[Lanes]:
    """Threads of a warp, often all, and sources that are often alike."""
    few = chance.sample(range(32), chance.randint(1, 32))
    lanes = sorted(chance.choice((few, few, range(chance.randint(1, 32)), range(32))))
    mask = mask_of(lanes) | (chance.getrandbits(32) if chance.random() < 0.3 else 0)
    kinds = [(e.parameter.name, e.type) for e in how.expected if e is not None and e.parameter.role == "source"]
    pools = {name: [_draw(name, kind, chance) for _ in range(chance.choice((1, 2, 3, 40)))] for name, kind in kinds}
    pools["membermask"] = [mask]
    return ({lane: tuple(chance.choice(pools[name]) for name, _ in kinds) for lane in lanes},)


def _draw(name: str, kind: str, chance: random.Random) -> int:
    if name == "b":  # a distance
        return chance.choice((0, 1, 2, 4, 8, 16, 31, 33, chance.getrandbits(5), chance.getrandbits(32)))
    if name == "c":  # clamp and segments
        usual = (0, 0x1F, 0x1C03, 0x181F, 0x1800, 0x1E01)
        return chance.choice((*usual, chance.getrandbits(13), chance.getrandbits(32)))
    return driver.draw(kind, chance)


INPUTS = dict.fromkeys(REFERENCES, draw_lanes)
