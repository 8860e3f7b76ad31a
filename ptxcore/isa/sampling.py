"""Which texels a lookup reads, and with which weights (PTX ISA 9.0, section 9.7.10; "Texture Fetching" in the CUDA C++
Programming Guide).

With nearest filtering the texel at floor(x); with linear filtering those at floor(x - 0.5) and behind it, where the fraction
has eight bits. How it is rounded to them is not documented: here to the nearest. Coordinates beyond the image are wrapped,
mirrored, clamped, or mean the border. A coordinate that is not known (a term) goes as far as a single texel.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import floor, inf, isfinite, log2, sqrt

from ptxcore.isa.image import DIMENSIONS, LAYERED, SAMPLED, Image, Sampler
from ptxcore.records import NamedTuple
from ptxcore.values.floats import fmul, from_integer, to_integer
from ptxcore.values.ieee import F32, decode
from ptxcore.values.terms import Value, add, conj, ite, mul, negate, sext, signed, sle, slt, zext

#: Bits of the fraction between two texels.
FRACTION = 8
_ONE = 1 << FRACTION
#: Beyond it coordinates are alike.
_FAR = 1 << 40
_FACES = 6


#: Bits of `.f32`, or of an integer; where it was computed here, a number.
Coordinate = Value | Fraction


class Unknown(Exception):
    """A coordinate is not known, and must be."""


class Tap(NamedTuple):
    """A texel that is read: its address where `inside` holds, the border elsewhere; `level` and `offset` are its place in the
    image where that is known (-1: it is not). `weight` counts in units of which `Footprint.whole` are 1."""

    weight: int
    address: Value
    inside: Value
    level: int = 0
    offset: int = -1


class Footprint(NamedTuple):
    """The texels of a lookup. `exact`: nothing was rounded to find them that the documents leave open."""

    taps: tuple[Tap, ...]
    whole: int
    exact: bool


class Lookup(NamedTuple):
    """What an instruction asks for: coordinates as bits of 32, floating-point or integers, their offsets, the layer and the
    sample; the level of detail, or the two gradients."""

    geometry: str
    coordinates: tuple[Coordinate, ...]
    floats: bool
    offsets: tuple[int, ...] = ()
    layer: Value = 0
    sample: Value = 0
    level: Value | None = None
    gradients: tuple[tuple[Coordinate, ...], ...] = ()


class _Axis(NamedTuple):
    """A dimension of a level: its size, its addressing, and whether coordinates are fractions of it."""

    size: int
    mode: str
    normalized: bool


class _Choice(NamedTuple):
    """One of the texels along an axis: its weight, its place, and whether it is no border."""

    weight: int
    place: Value
    inside: Value = 1


def split_coordinates(geometry: str, given: Sequence[Value]) -> tuple[tuple[Value, ...], Value, Value]:
    """The coordinates of an operand, the layer, and the sample."""
    rest = list(given)
    layer = rest.pop(0) if geometry in LAYERED else 0
    sample = rest.pop(0) if geometry in SAMPLED else 0
    count = 3 if "cube" in geometry else DIMENSIONS[geometry]
    return tuple(rest[:count]), layer, sample


def number_of(bits: int) -> float:
    """The number that bits of `.f32` stand for."""
    x = decode(F32, bits)
    if x.kind == "nan":
        return float("nan")
    value = inf if x.kind == "infinity" else x.mantissa * 2.0**x.exponent
    return -value if x.sign else value


def footprint(image: Image, sampler: Sampler, lookup: Lookup) -> Footprint:
    """The texels that a lookup reads. Raises Unknown."""
    lookup, face, exact = _projected(lookup)
    levels, whole, chosen = _levels(image, sampler, lookup)
    taps: list[Tap] = []
    units = 1
    exact = exact and chosen
    for level, share in levels:
        choices, sharp = _choices(image, sampler, lookup, level)
        exact = exact and sharp
        units = _ONE ** len(choices)
        taps += [
            tap._replace(weight=tap.weight * share) for tap in _taps(image, lookup, level, face, choices) if tap.weight
        ]
    return Footprint(tuple(taps), units * whole, exact)


def gathered(image: Image, sampler: Sampler, lookup: Lookup) -> tuple[Tap, ...]:
    """The four texels of a bilinear lookup, counter-clockwise from the lower left (section 9.7.10.4). Raises Unknown."""
    lookup, face, _ = _projected(lookup)
    axes = _axes(image, sampler, lookup, 0)
    pairs: list[tuple[_Choice, _Choice]] = []
    for n, axis in enumerate(axes):
        x = _scaled(_known(lookup.coordinates[n]), axis)
        first = floor(x - Fraction(1, 2)) + _offset(lookup, n)
        pairs.append((_placed(first, axis), _placed(first + 1, axis)))
    (left, right), (upper, lower) = pairs
    order = ((left, lower), (right, lower), (right, upper), (left, upper))
    return tuple(_tap(image, lookup, 0, face, pair) for pair in order)


# Levels of detail.


def _levels(image: Image, sampler: Sampler, lookup: Lookup) -> tuple[list[tuple[int, int]], int, bool]:
    """The levels that are read, with their weights, what these add up to, and whether that is documented."""
    last = image.levels - 1
    if (lookup.level is None and not lookup.gradients) or not last:
        return [(0, 1)], 1, True
    if lookup.gradients:
        wanted, exact = _level_of_gradients(image, sampler, lookup), False  # no formula is documented
    else:
        assert lookup.level is not None
        if type(lookup.level) is not int:
            raise Unknown
        if not lookup.floats:
            return [(min(max(signed(lookup.level, 32), 0), last), 1)], 1, True
        wanted, exact = number_of(lookup.level), True
    low, high = min(max(sampler.lowest, 0.0), last), min(max(sampler.highest, 0.0), last)
    level = min(max(wanted + sampler.bias if wanted == wanted else 0.0, low), high)
    exact = (exact and wanted == wanted) or low == high
    if sampler.level_filter == "nearest":
        return [(floor(level + 0.5), 1)], 1, exact and level % 1 != 0.5
    steps = floor(level * _ONE + 0.5)
    first, part = divmod(steps, _ONE)
    exact = exact and steps == level * _ONE
    return ([(first, _ONE - part), (first + 1, part)] if part else [(first, _ONE)]), _ONE, exact


def _level_of_gradients(image: Image, sampler: Sampler, lookup: Lookup) -> float:
    """log2 of the longer of the two steps, in texels."""
    sizes = image.size()
    scaled = "cube" in lookup.geometry or (image.normalized and not sampler.forced)
    longest = 0.0
    for gradient in lookup.gradients:
        parts = [_real(g) for g in gradient]
        longest = max(longest, sqrt(sum((p * (s if scaled else 1)) ** 2 for p, s in zip(parts, sizes, strict=False))))
    return log2(longest) if longest > 0 and isfinite(longest) else -inf if longest <= 0 else inf


# Cubes.


def _projected(lookup: Lookup) -> tuple[Lookup, int, bool]:
    """Of a direction, the face of the cube and the two coordinates there; anything else as it is."""
    if "cube" not in lookup.geometry:
        return lookup, 0, True
    s, t, r = (_real(c) for c in lookup.coordinates)
    sizes = [abs(v) if v == v else 0.0 for v in (s, t, r)]
    major = max(range(3), key=lambda n: (sizes[n], n))
    clear = sorted(sizes)[1] < sizes[major] and all(map(isfinite, sizes)) and sizes[major] > 0
    if not sizes[major] or not all(map(isfinite, sizes)):
        return lookup._replace(coordinates=(Fraction(1, 2), Fraction(1, 2))), 0, False
    length = Fraction(sizes[major])
    vector = [Fraction(v) for v in (s, t, r)]
    negative = vector[major] < 0
    face, (across, down), (sign_a, sign_d) = _CUBE[major, negative]
    place = [(sign_a * vector[across] / length + 1) / 2, (sign_d * vector[down] / length + 1) / 2]
    gradients = tuple(_on_face(g, vector, length, negative, major, (across, down)) for g in lookup.gradients)
    projected = lookup._replace(coordinates=tuple(place), gradients=gradients)
    return projected, face, clear


#: By the major axis and its sign: the face, which coordinates go across it and down it, and their signs.
_CUBE = {
    (0, False): (0, (2, 1), (-1, -1)), (0, True): (1, (2, 1), (1, -1)), (1, False): (2, (0, 2), (1, 1)),
    (1, True): (3, (0, 2), (1, -1)), (2, False): (4, (0, 1), (1, -1)), (2, True): (5, (0, 1), (-1, -1)),
}  # fmt: skip


def _on_face(
    gradient: Sequence[Coordinate],
    vector: Sequence[Fraction],
    length: Fraction,
    negative: bool,
    major: int,
    axes: tuple[int, int],
) -> tuple[Coordinate, ...]:
    """A step of a direction as a step on the face of a cube."""
    step = [Fraction(v) if isfinite(v) else Fraction(0) for v in map(_real, (*gradient, 0, 0)[:3])]
    along = -step[major] if negative else step[major]
    return tuple((step[axis] * length - vector[axis] * along) / (2 * length**2) for axis in axes)


# Axes.


def _known(x: Coordinate) -> int | Fraction:
    """What must be known. Raises Unknown."""
    if isinstance(x, (int, Fraction)):
        return x
    raise Unknown


def _real(x: Coordinate) -> float:
    """The number that a coordinate is. Raises Unknown."""
    known = _known(x)
    return float(known) if isinstance(known, Fraction) else number_of(known)


def _offset(lookup: Lookup, n: int) -> int:
    return lookup.offsets[n] if n < len(lookup.offsets) else 0


def _axes(image: Image, sampler: Sampler, lookup: Lookup, level: int) -> list[_Axis]:
    normalized = ("cube" in lookup.geometry) or (lookup.floats and image.normalized and not sampler.forced)
    count = DIMENSIONS[lookup.geometry]
    sizes = image.size(level)
    found = []
    for n in range(count):
        mode = sampler.address[n]
        if image.linear and not image.height:
            mode = "clamp_to_border"  # what is outside of linear memory is 0
        elif not normalized and mode in ("wrap", "mirror"):
            mode = "clamp_to_edge"
        found.append(_Axis(sizes[n], mode, normalized))
    return found


def _choices(image: Image, sampler: Sampler, lookup: Lookup, level: int) -> tuple[list[list[_Choice]], bool]:
    """For each axis the texels along it, and whether finding them rounded nothing."""
    linear = lookup.floats and sampler.filter == "linear" and not (image.linear and not image.height)
    found: list[list[_Choice]] = []
    exact = True
    for n, axis in enumerate(_axes(image, sampler, lookup, level)):
        x, offset = lookup.coordinates[n], _offset(lookup, n)
        if not lookup.floats and not isinstance(x, Fraction):
            found.append([_by_index(x, axis, offset)])
        elif not isinstance(x, (int, Fraction)):
            if linear:
                raise Unknown
            found.append([_by_term(x, axis, offset)])
        else:
            choices, sharp = _between(_scaled(x, axis), axis, offset) if linear else _nearest(x, axis, offset)
            exact = exact and sharp
            found.append(choices)
    return found, exact


def _scaled(x: int | Fraction, axis: _Axis) -> Fraction:
    """A coordinate in texels."""
    if isinstance(x, Fraction):
        return x * axis.size
    number = number_of(x)
    if not isfinite(number):
        return Fraction(0 if number != number else _FAR if number > 0 else -_FAR)
    return Fraction(number) * (axis.size if axis.normalized else 1)


def _nearest(x: int | Fraction, axis: _Axis, offset: int) -> tuple[list[_Choice], bool]:
    place = _scaled(x, axis)
    if axis.mode == "clamp_ogl":
        place = min(max(place, Fraction(0)), Fraction(axis.size))
        index = min(floor(place), axis.size - 1) + offset
        return [_placed(index, axis._replace(mode="clamp_to_edge"), _ONE)], True
    place = place + offset
    index = min(floor(_folded(place, axis)), axis.size - 1) if axis.mode == "mirror" else floor(place)
    return [_placed(index, axis, _ONE)], isinstance(x, Fraction) or isfinite(number_of(x))


def _between(place: Fraction, axis: _Axis, offset: int) -> tuple[list[_Choice], bool]:
    """The two texels around a place."""
    if axis.mode == "clamp_ogl":
        place = min(max(place, Fraction(0)), Fraction(axis.size))
    fine = _folded(place + offset, axis) * _ONE - _ONE // 2
    steps = floor(fine + Fraction(1, 2))
    first, part = divmod(steps, _ONE)
    choices = [_placed(first, axis, _ONE - part), _placed(first + 1, axis, part)]
    return [c for c in choices if c.weight], steps == fine


def _folded(place: Fraction, axis: _Axis) -> Fraction:
    """A place that the mirror has brought into the image."""
    if axis.mode != "mirror":
        return place
    place %= 2 * axis.size
    return min(place, 2 * axis.size - place)


def _placed(index: int, axis: _Axis, weight: int = _ONE) -> _Choice:
    """The texel that an index means, which may lie outside."""
    size = axis.size
    if 0 <= index < size:
        return _Choice(weight, index)
    if axis.mode == "wrap":
        return _Choice(weight, index % size)
    if axis.mode == "mirror":
        index %= 2 * size
        return _Choice(weight, index if index < size else 2 * size - 1 - index)
    if axis.mode == "clamp_to_edge":
        return _Choice(weight, min(max(index, 0), size - 1))
    return _Choice(weight, 0, 0)


def _by_index(x: Value, axis: _Axis, offset: int) -> _Choice:
    """The texel of an integer coordinate."""
    if type(x) is int:
        return _placed(signed(x, 32) + offset, axis)
    return _limited(add(sext(x, 32, 64), offset & ((1 << 64) - 1), 64), axis)


def _by_term(x: Value, axis: _Axis, offset: int) -> _Choice:
    """The texel nearest to a coordinate that is not known. Raises Unknown where that would be rounded."""
    if axis.normalized:
        if axis.size & (axis.size - 1) or axis.mode in ("wrap", "mirror"):
            raise Unknown
        x = fmul("f32", x, from_integer("f32", axis.size, 32, False))
    index = sext(to_integer("f32", x, 32, True, "rm"), 32, 64)
    return _limited(add(index, offset & ((1 << 64) - 1), 64), axis)


def _limited(index: Value, axis: _Axis) -> _Choice:
    """An index of 64 bits that is not known, clamped or compared with the border."""
    below, above = slt(index, 0, 64), sle(axis.size, index, 64)
    clamped = ite(below, 0, ite(above, axis.size - 1, index, 64), 64)
    inside = conj(negate(below), negate(above))
    return _Choice(_ONE, clamped, 1 if axis.mode in ("clamp_to_edge", "clamp_ogl") else inside)


# Addresses.


def _taps(image: Image, lookup: Lookup, level: int, face: int, choices: Sequence[Sequence[_Choice]]) -> list[Tap]:
    return [_tap(image, lookup, level, face, combination) for combination in product(*choices)]


def _tap(image: Image, lookup: Lookup, level: int, face: int, choices: Sequence[_Choice]) -> Tap:
    weight, inside = 1, 1
    for choice in choices:
        weight *= choice.weight
        inside = conj(inside, choice.inside)  # type: ignore[assignment]
    x, y, z = (*(c.place for c in choices), 0, 0)[:3]
    place = offset_of(image, level, _slice(lookup, face), z, y, x, lookup.sample)
    address = add(image.bases[level], place, 64)
    return Tap(weight, address, inside, level, place if type(place) is int else -1)


def _slice(lookup: Lookup, face: int) -> Value:
    if "cube" not in lookup.geometry:
        return lookup.layer
    return add(mul(zext(lookup.layer, 64), _FACES, 64), face, 64)


def offset_of(image: Image, level: int, layer: Value, z: Value, y: Value, x: Value, sample: Value = 0) -> Value:
    """Where a texel stands in its level, in bytes."""
    _, h, d = image.size(level)
    texel = image.format.texel_bytes

    def plus(a: Value, b: Value, factor: int) -> Value:
        return add(mul(zext(a, 64), factor, 64), zext(b, 64), 64)

    row = plus(plus(layer, z, d), y, h)
    column = plus(plus(x, sample, max(1, image.samples)), 0, texel)
    return plus(row, column, image.row(level))
