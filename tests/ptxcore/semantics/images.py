"""Random lookups in textures and accesses to surfaces: a module, what it is launched with, and what must come out.

What must come out is computed here a second time, in NumPy, from the formulas of the CUDA C++ Programming Guide ("Texture
Fetching") and the sentences of sections 9.7.10 and 9.7.11, and not from what the machine does. Texels have few bits, so that
weighted sums are exact in `longdouble`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, log2, sqrt
from random import Random
from typing import Any

import numpy as np

from ptxmm.images import Surface, Texture

THREADS = 4
#: What a thread gets, and gives back, in words of 32 bits.
WORDS_IN, WORDS_OUT = 20, 8
GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms")
DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2, "acube": 2, "2dms": 2, "a2dms": 2}
MODES = ("wrap", "mirror", "clamp", "border")
_DTYPES = {"u": "u", "s": "i", "f": "f"}
_CL_TYPES = {
    "u8": 0x10DA, "u16": 0x10DB, "u32": 0x10DC, "s8": 0x10D7, "s16": 0x10D8, "s32": 0x10D9, "f16": 0x10DD, "f32": 0x10DE,
}  # fmt: skip
_CL_FRACTIONS = {"u8": 0x10D2, "u16": 0x10D3, "s8": 0x10D0, "s16": 0x10D1}


@dataclass
class Picture:
    """An image as the reference sees it: for each level an array of (slice, depth, height, width, sample, channel)."""

    geometry: str
    kind: str
    bits: int
    channels: int
    size: tuple[int, int, int]
    layers: int
    samples: int
    levels: list[Any]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def floats(self) -> bool:
        return self.kind == "f" or self.options.get("read") == "normalized"

    def numbers(self, level: int) -> Any:
        """What channels stand for, where they are read as floating-point."""
        raw = self.levels[level].astype(np.longdouble)
        if self.kind == "f":
            return raw
        top = (1 << self.bits) - 1 if self.kind == "u" else (1 << self.bits - 1) - 1
        return np.maximum(raw / top, -1)

    def arrays(self) -> list[Any]:
        """As users give them."""
        found = []
        for level in self.levels:
            slices, d, h, w, s, c = level.shape
            shape = [slices] * (self.geometry[0] == "a" or "cube" in self.geometry)
            shape += [d, h, w][3 - DIMENSIONS[self.geometry] :]
            shape += [s] * ("ms" in self.geometry) + [c] * (c > 1)
            found.append(np.ascontiguousarray(level.reshape(shape)))
        return found

    def keywords(self) -> dict[str, Any]:
        return {
            "channels": self.channels, "layered": self.geometry[0] == "a", "cube": "cube" in self.geometry,
            **({"samples": self.samples} if self.samples else {}), **self.options,
        }  # fmt: skip


def picture(random: Random, geometry: str, *, surface: bool = False) -> Picture:
    kind, bits = random.choice([("u", 8), ("u", 16), ("u", 32), ("s", 8), ("s", 16), ("s", 32), ("f", 16), ("f", 32)])
    channels = random.choice((1, 2, 4))
    w = random.choice((4, 5, 8))
    h = w if "cube" in geometry else random.choice((3, 4, 8)) if DIMENSIONS[geometry] > 1 else 1
    d = random.choice((2, 3, 4)) if geometry == "3d" else 1
    layers = random.choice((1, 2, 3)) if geometry[0] == "a" else 0
    samples = random.choice((2, 4)) if "ms" in geometry else 0
    many = 1 if surface or "ms" in geometry or random.random() < 0.5 else 2
    slices = max(1, layers) * (6 if "cube" in geometry else 1)
    noise = np.random.default_rng(random.getrandbits(32))
    dtype = np.dtype(f"<{_DTYPES[kind]}{bits // 8}")
    levels = []
    for level in range(many):
        shape = (slices, max(1, d >> level), max(1, h >> level), max(1, w >> level), max(1, samples), channels)
        if kind == "f":
            levels.append((noise.integers(-512, 512, shape) / 64).astype(dtype))
        else:
            info = np.iinfo(dtype)
            levels.append(noise.integers(info.min, info.max, shape, endpoint=True, dtype=dtype))
    found = Picture(geometry, kind, bits, channels, (w, h, d), layers, samples, levels)
    if not surface:
        found.options = _sampling(random, found)
    return found


def _sampling(random: Random, p: Picture) -> dict[str, Any]:
    options: dict[str, Any] = {
        "normalized": random.random() < 0.5,
        "address": [random.choice(MODES) for _ in range(3)],
        "level_filter": random.choice(("nearest", "linear")),
    }
    if p.kind != "f" and p.bits < 32 and random.random() < 0.6:
        options["read"] = "normalized"
    if (p.kind == "f" or "read" in options) and random.random() < 0.6:
        options["filter"] = "linear"
    if len(p.levels) == 1 or not (p.kind == "f" or "read" in options):
        options.pop("level_filter")
    return options


def _as_cuda_has_it(p: Picture) -> None:
    """Without what CUDA does not make, and without filters, whose rounding is the hardware's."""
    p.options["filter"] = "nearest"
    if "level_filter" in p.options:
        p.options["level_filter"] = "nearest"
    p.options["normalized"] |= len(p.levels) > 1
    if not p.options["normalized"]:
        p.options["address"] = [mode if mode in ("clamp", "border") else "clamp" for mode in p.options["address"]]


# The reference.


def f32(bits: int) -> float:
    return float(np.array([bits], np.uint32).view(np.float32)[0])


def _axis(
    number: float, n: int, mode: str, normalized: bool, linear: bool, offset: int
) -> list[tuple[int | None, float]]:
    """The texels along a dimension, with their weights: the guide's formulas, the coordinate first, with its offset."""
    x = Fraction(number) + Fraction(offset, n if normalized else 1)
    if normalized:
        whole = floor(x)
        if mode == "wrap":
            x = x - whole
        elif mode == "mirror":
            x = x - whole if whole % 2 == 0 else 1 - (x - whole)
        x = x * n
    elif mode in ("wrap", "mirror"):
        mode = "clamp"
    if not linear:
        return [(_kept(min(floor(x), n - 1) if mode in ("wrap", "mirror") else floor(x), n, mode), 1.0)]
    xb = x - Fraction(1, 2)
    i = floor(xb)
    alpha = floor((xb - i) * 256 + Fraction(1, 2)) / 256
    return [(_kept(i, n, mode), 1 - alpha), (_kept(i + 1, n, mode), alpha)]


def _kept(i: int, n: int, mode: str) -> int | None:
    if 0 <= i < n:
        return i
    if mode == "border":
        return None
    if mode == "clamp":
        return min(max(i, 0), n - 1)
    if mode == "wrap":
        return i % n
    i %= 2 * n
    return i if i < n else 2 * n - 1 - i


def face_of(x: float, y: float, z: float) -> tuple[int, float, float]:
    """The guide's table of cube maps: the face and the two coordinates on it."""
    if abs(x) > abs(y) and abs(x) > abs(z):
        face, m, s, t = (0, x, -z, -y) if x >= 0 else (1, -x, z, -y)
    elif abs(y) > abs(x) and abs(y) > abs(z):
        face, m, s, t = (2, y, x, z) if y >= 0 else (3, -y, x, -z)
    else:
        face, m, s, t = (4, z, x, -y) if z >= 0 else (5, -z, -x, -y)
    return face, (s / m + 1) / 2, (t / m + 1) / 2


def levels_read(p: Picture, lod: float | None) -> list[tuple[int, float]]:
    last = len(p.levels) - 1
    if lod is None or not last:
        return [(0, 1.0)]
    lod = min(max(lod, 0.0), last)
    if p.options.get("level_filter") != "linear":
        return [(floor(lod + 0.5), 1.0)]
    steps = floor(lod * 256 + 0.5)
    low, part = steps // 256, steps % 256 / 256
    return [(low, 1 - part), (low + 1, part)] if part else [(low, 1.0)]


def looked_up(
    p: Picture, place: list[float], layer: int, sample: int, lod: float | None, offsets: list[int], whole: bool
) -> Any:
    """The channels of a lookup, as numbers; as integers where they are."""
    slice_, normalized = layer, p.options["normalized"] and not whole
    if "cube" in p.geometry:
        face, s, t = face_of(*place)
        place, slice_, normalized = [s, t], 6 * layer + face, True
    linear = p.options.get("filter") == "linear" and not whole
    total: Any = np.zeros(p.channels, np.longdouble)
    for level, share in levels_read(p, lod):
        texels = p.numbers(level) if p.floats else p.levels[level].astype(np.longdouble)
        sizes = texels.shape[3], texels.shape[2], texels.shape[1]
        axes = [
            _axis(x, n, mode, normalized, linear, offset)
            for x, n, mode, offset in zip(place, sizes, p.options["address"], offsets or [0] * 3, strict=False)
        ]
        axes += [[(0, 1.0)]] * (3 - len(axes))
        for x, wx in axes[0]:
            for y, wy in axes[1]:
                for z, wz in axes[2]:
                    if x is not None and y is not None and z is not None:
                        total = total + np.longdouble(wx * wy * wz * share) * texels[slice_, z, y, x, sample]
    return total


def returned(p: Picture, numbers: Any, dtype: str) -> list[int]:
    """What registers get, as bits."""
    if not p.floats:
        return [int(n) & 0xFFFFFFFF for n in numbers]
    single = numbers.astype(np.float32)
    if dtype in ("f16", "f16x2"):
        half = (numbers if p.options.get("filter") == "linear" else single).astype(np.float16)
        return [int(b) for b in half.view(np.uint16)]
    return [int(b) for b in single.view(np.uint32)]


# Modules.

_HEAD = """.version {version}
.target {target}
.address_size 64
{declared}
.visible .entry k(.param .u64 in, .param .u64 out{parameter}) {{
 .reg .b64 %rd<8>; .reg .b32 %r<32>; .reg .b32 %o<8>; .reg .f32 %f<32>; .reg .b16 %h<8>; .reg .pred %p<3>; .reg .b64 %w<4>;
 ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd0, %rd0; cvta.to.global.u64 %rd1, %rd1;
 mov.u32 %r31, %tid.x; mul.wide.u32 %rd2, %r31, {bytes_in}; add.s64 %rd0, %rd0, %rd2;
 mul.wide.u32 %rd2, %r31, {bytes_out}; add.s64 %rd1, %rd1, %rd2;
"""


@dataclass
class Case:
    """A launch: `given` are the words of each thread, `expected` those that come back (None: nothing is known of it);
    `image` is the last argument, or bound to the reference `T`."""

    text: str
    image: Any
    given: Any
    expected: list[list[int | None]]
    references: dict[str, Any]
    after: list[Any] = field(default_factory=list)
    wanted_after: list[Any] = field(default_factory=list)
    #: How many threads do something with inputs of their own.
    inputs: int = 1

    def arguments(self, out: Any) -> list[Any]:
        return [self.given.reshape(-1), out.reshape(-1), *([] if self.references else [self.image])]


def _module(body: str, outputs: int, *, named: str, sampler: str = "", version: str = "8.1") -> str:
    declared = (f".global .{named} T;\n" if named else "") + sampler
    text = _HEAD.format(
        version=version, target=f"sm_80{', texmode_independent' if sampler else ''}", declared=declared,
        parameter="" if named else ", .param .u64 t", bytes_in=4 * WORDS_IN, bytes_out=4 * WORDS_OUT,
    )  # fmt: skip
    if not named:
        text += " ld.param.u64 %rd4, [t];\n"
    for n in range(WORDS_IN):
        text += f" ld.global.b32 %r{n}, [%rd0+{4 * n}]; mov.b32 %f{n}, %r{n};\n"
    text += "".join(f" mov.b32 %o{n}, 0;\n" for n in range(WORDS_OUT))
    text += f" {body}\n"
    return text + "".join(f" st.global.b32 [%rd1+{4 * n}], %o{n};\n" for n in range(outputs)) + " ret;\n}\n"


def _float_words(random: Random, sizes: tuple[int, ...], normalized: bool, direction: bool) -> list[float]:
    found = []
    for n in sizes:
        x = random.uniform(-1.5, 2.5) if normalized else random.uniform(-3, n + 3)
        if random.random() < 0.3:
            x = random.randrange(-8, 4 * n + 8) / 4 / (n if normalized else 1)
        found.append(random.uniform(-2, 2) if direction else x)
    return [float(np.float32(x)) for x in found]


def _word(x: float) -> int:
    return int(np.array([x], np.float32).view(np.uint32)[0])


def lookup_case(random: Random, geometry: str = "", **wanted: Any) -> Case:
    """A `tex` or `tld4`."""
    geometry = geometry or random.choice(GEOMETRIES)
    gathers = wanted.get("gathers", random.random() < 0.25) and geometry in ("2d", "a2d", "cube", "acube")
    p = picture(random, geometry)
    if wanted.get("cuda"):
        _as_cuda_has_it(p)
    whole = "ms" in geometry or ("cube" not in geometry and not gathers and wanted.get("whole", random.random() < 0.3))
    mode = (
        ""
        if "ms" in geometry or gathers
        else wanted.get("mode", random.choice(wanted.get("modes", ("", "base", "level", "grad"))))
    )
    offset = wanted.get("offset", random.random() < 0.4) and "cube" not in geometry
    named = wanted.get("named", random.random() < 0.4)
    independent = named and wanted.get("independent", random.random() < 0.5)
    predicate = wanted.get("predicate", random.random() < 0.3)
    dtype = {"u": "u32", "s": "s32", "f": "f32"}["f" if p.floats else p.kind]
    if p.floats and not gathers and random.random() < 0.3:
        dtype = random.choice(("f16", "f16x2"))
    component, threads = random.choice("rgba"), wanted.get("threads", THREADS)
    if independent:  # what the sampler does not say stays the texture's
        p.options.pop("level_filter", None)
        p.options["address"] = [m if m != "border" else "clamp" for m in p.options["address"]]
    dims = 3 if "cube" in geometry else DIMENSIONS[geometry]
    given = np.zeros((threads, WORDS_IN), np.uint32)
    expected: list[list[int | None]] = []
    for t in range(threads):
        layer = random.randrange(p.layers) if p.layers else 0
        sample = random.randrange(p.samples) if p.samples else 0
        offsets = [random.randint(-8, 7) for _ in range(3)] if offset else []
        if whole:
            place: list[float] = [float(random.randrange(-3, n + 3)) for n in p.size[:dims]]
            words = [int(x) & 0xFFFFFFFF for x in place]
        else:
            place = _float_words(random, p.size[:dims] if dims == DIMENSIONS[geometry] else (1, 1, 1), p.options["normalized"],
                                 "cube" in geometry)  # fmt: skip
            words = [_word(x) for x in place]
        lod: float | None = None
        if mode == "level":
            lod = float(random.randrange(-1, 3)) if whole else float(np.float32(random.uniform(-0.5, 1.5)))
            given[t, 8] = int(lod) & 0xFFFFFFFF if whole else _word(lod)
        gradients = [
            [random.choice((0.0, 0.25, 0.5, 2.0)) * random.choice((1, -1)) for _ in range(3)] for _ in range(2)
        ]
        if mode == "grad":
            lod = _gradient_level(p, gradients, place)
            for n, g in enumerate((*gradients[0], *gradients[1])):
                given[t, 9 + n] = _word(g)
        head = ([layer] if p.layers else []) + ([sample] if p.samples else [])
        given[t, : len(head) + dims] = [*head, *words]
        for n, o in enumerate(offsets):
            given[t, 16 + n] = o & 0xFFFFFFFF
        if gathers:
            row = _gathered(p, place, layer, offsets, "rgba".index(component))
        else:
            known = returned(p, looked_up(p, place, layer, sample, lod, offsets, whole), dtype)
            row = [*known, *[None] * (4 - p.channels)]
            if dtype == "f16x2":
                row = [None if None in pair else pair[0] | pair[1] << 16 for pair in (row[:2], row[2:])]  # type: ignore[operator]
        expected.append([*row, 1] if predicate else row)
    body = _lookup_text(
        geometry, mode, dtype, whole, offset, named, independent, predicate, component if gathers else "", p
    )
    count = len(expected[0])
    sampler = _sampler_text(p) if independent else ""
    image = Texture(p.arrays() if len(p.levels) > 1 else p.arrays()[0], **p.keywords())
    if independent:  # the texture's own sampler does not count
        other = {**p.keywords(), "filter": "nearest", "address": "clamp"}
        image = Texture(p.arrays() if len(p.levels) > 1 else p.arrays()[0], **other)
    text = _module(body, count, named="texref" if named else "", sampler=sampler)
    return Case(text, image, given, expected, {"T": image} if named else {}, inputs=threads)


def _gradient_level(p: Picture, gradients: list[list[float]], place: list[float]) -> float:
    """log2 of the longer step in texels; on a cube, of the step on the face by the rule for quotients."""
    longest = 0.0
    for g in gradients:
        if "cube" in p.geometry:
            face = face_of(*place)[0]
            (m, s, t), (dm, ds, dt) = _turned(face, place), _turned(face, g)
            steps = [(ds * m - s * dm) / m**2 / 2 * p.size[0], (dt * m - t * dm) / m**2 / 2 * p.size[0]]
        else:
            scale = p.size if p.options["normalized"] else (1, 1, 1)
            steps = [d * n for d, n in zip(g[: DIMENSIONS[p.geometry]], scale, strict=False)]
        longest = max(longest, sqrt(sum(s * s for s in steps)))
    return log2(longest) if longest > 0 else -1.0


def _turned(face: int, v: list[float]) -> tuple[float, float, float]:
    """A vector as seen from a face: along its axis, across, down."""
    x, y, z = v
    return [(x, -z, -y), (-x, z, -y), (y, x, z), (-y, x, -z), (z, x, -y), (-z, -x, -y)][face]


def _gathered(p: Picture, place: list[float], layer: int, offsets: list[int], channel: int) -> list[int | None]:
    if channel >= p.channels:
        return [None] * 4
    slice_, normalized = layer, p.options["normalized"]
    if "cube" in p.geometry:
        face, s, t = face_of(*place)
        place, slice_, normalized = [s, t], 6 * layer + face, True
    pairs = []
    for x, n, mode, o in zip(place, p.size, p.options["address"], offsets or [0] * 3, strict=False):
        mode = mode if normalized or mode == "border" else "clamp"
        i = floor((x * n if normalized else x) - 0.5) + o
        pairs.append((_kept(i, n, mode), _kept(i + 1, n, mode)))
    (x0, x1), (y0, y1) = pairs
    found: list[int | None] = []
    for x, y in ((x0, y1), (x1, y1), (x1, y0), (x0, y0)):
        if x is None or y is None:
            found.append(0)
        else:
            texels = p.numbers(0) if p.floats else p.levels[0].astype(np.longdouble)
            found.append(returned(p, texels[slice_, 0, y, x, 0, channel : channel + 1], "f32")[0])
    return found


def _lookup_text(
    geometry: str, mode: str, dtype: str, whole: bool, offset: bool, named: bool, independent: bool, predicate: bool,
    component: str, p: Picture,
) -> str:  # fmt: skip
    dims = 3 if "cube" in geometry else DIMENSIONS[geometry]
    r = "%r" if whole else "%f"
    heads = [f"%r{n}" for n in range(bool(p.layers) + bool(p.samples))]
    registers = heads + [f"{r}{n}" for n in range(len(heads), len(heads) + dims)]
    if len(registers) == 3:
        registers.append(registers[-1])
    ctype = "s32" if whole else "f32"
    first = {"f16": "%h", "f16x2": "%o"}.get(dtype, "%o")
    count = 2 if dtype == "f16x2" else 4
    results = "{" + ", ".join(f"{first}{n}" for n in range(count)) + "}" + ("|%p0" if predicate else "")
    where = f"[{'T' if named else '%rd4'}, {'S, ' if independent else ''}{{{', '.join(registers)}}}]"
    tail = ""
    if mode == "level":
        tail += f", {r}8"
    if mode == "grad":
        count_g = 4 if dims == 3 else dims
        for begin in (9, 12):
            own = [f"%f{begin + min(n, 2)}" for n in range(count_g)]
            tail += f", {{{', '.join(own)}}}"
    if offset:
        own = [f"%r{16 + min(n, 2)}" for n in range(4 if dims == 3 else dims)]
        tail += f", {{{', '.join(own)}}}"
    if component:
        text = f"tld4.{component}.{geometry}.v4.{dtype}.f32 {results}, {where}{tail};"
    else:
        vec = "v2" if dtype == "f16x2" else "v4"
        text = f"tex.{mode + '.' if mode else ''}{geometry}.{vec}.{dtype}.{ctype} {results}, {where}{tail};"
    if dtype == "f16":
        text += "".join(f" cvt.u32.u16 %o{n}, %h{n};" for n in range(4) if n < p.channels)
    if predicate:
        text += f" selp.b32 %o{2 if dtype == 'f16x2' else 4}, 1, 0, %p0;"
    return text


def _sampler_text(p: Picture) -> str:
    names = {"clamp": "clamp_to_edge", "border": "clamp_to_border"}
    modes = [f"addr_mode_{n} = {names.get(m, m)}" for n, m in enumerate(p.options["address"])]
    return f".global .samplerref S = {{ {', '.join(modes)}, filter_mode = {p.options.get('filter', 'nearest')} }};\n"


def query_case(random: Random) -> Case:
    """`txq`, `suq` and `istypep`."""
    surface = random.random() < 0.4
    geometry = random.choice(("1d", "2d", "3d", "a1d", "a2d") if surface else GEOMETRIES)
    p = picture(random, geometry, surface=surface)
    w, h, d = p.size
    dims = DIMENSIONS[geometry]
    kind = f"{p.kind}{p.bits}"
    fractions = p.options.get("read") == "normalized"
    answers = {
        "width": w, "height": h if dims > 1 else 0, "depth": d if dims > 2 else 0, "array_size": p.layers,
        "channel_data_type": _CL_FRACTIONS[kind] if fractions else _CL_TYPES[kind],
        "channel_order": {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}[p.channels],
    }  # fmt: skip
    answers["memory_layout"] = 0
    if not surface:
        modes = ("wrap", "mirror", "clamp_ogl", "clamp", "border")
        answers |= {
            "normalized_coords": int(p.options["normalized"]),
            "num_mipmap_levels": len(p.levels) if len(p.levels) > 1 else 0,
            "num_samples": p.samples,
            "filter_mode": int(p.options.get("filter") == "linear"),
            **{f"addr_mode_{n}": modes.index(m) for n, m in enumerate(p.options["address"])},
        }
    chosen = random.sample(sorted(answers), 6)
    named = random.random() < 0.5
    place = "T" if named else "%rd4"
    opcode = "suq" if surface else "txq"
    body = " ".join(f"{opcode}.{q}.b32 %o{n}, [{place}];" for n, q in enumerate(chosen))
    values = [answers[q] for q in chosen]
    kinds = ("texref", "samplerref", "surfref")
    which = random.choice(kinds)
    body += (" mov.u64 %rd4, T;" if named else "") + f" istypep.{which} %p0, %rd4; selp.b32 %o6, 1, 0, %p0;"
    values.append(int(which == ("surfref" if surface else "texref")))
    if not surface and len(p.levels) > 1:
        body += f" txq.level.width.b32 %o7, [{place}], 1;"
        values.append(max(1, w >> 1))
    elif not surface and named:
        return _sampler_query(random, p)
    arrays = p.arrays()
    kept = (
        Surface(arrays[0], **p.keywords())
        if surface
        else Texture(arrays if len(arrays) > 1 else arrays[0], **p.keywords())
    )
    text = _module(body, len(values), named=("surfref" if surface else "texref") if named else "")
    given = np.zeros((THREADS, WORDS_IN), np.uint32)
    return Case(text, kept, given, [list(values) for _ in range(THREADS)], {"T": kept} if named else {})


def _sampler_query(random: Random, p: Picture) -> Case:
    """`txq` of a sampler of its own."""
    p.options["address"] = [m if m != "border" else "clamp" for m in p.options["address"]]
    modes = ("wrap", "mirror", "clamp_ogl", "clamp", "border")
    answers = {f"addr_mode_{n}": modes.index(m) for n, m in enumerate(p.options["address"])}
    answers |= {"filter_mode": int(p.options.get("filter") == "linear"), "force_unnormalized_coords": 0}
    body = " ".join(f"txq.{q}.b32 %o{n}, [S];" for n, q in enumerate(answers))
    image = Texture(p.arrays()[0], **p.keywords())
    text = _module(body, len(answers), named="", sampler=_sampler_text(p))
    given = np.zeros((THREADS, WORDS_IN), np.uint32)
    return Case(text, image, given, [list(answers.values()) for _ in range(THREADS)], {})


# Surfaces.

_CLAMPS = ("trap", "clamp", "zero")


def _bytes_of(p: Picture) -> Any:
    """The bytes of a surface: (slice, depth, height, byte of the row)."""
    level = p.levels[0]
    return np.ascontiguousarray(level).view(np.uint8).reshape(*level.shape[:3], -1)


def _corner(
    random: Random, p: Picture, clamp: str, last: tuple[int, ...], step: int
) -> tuple[list[int], tuple[int, ...], bool]:
    """Coordinates of an access; where it goes, and whether that is inside. `last` has the last places of each dimension."""
    place = []
    for n, end in enumerate(last):
        far = clamp != "trap" and random.random() < 0.3
        unit = step if n == 0 else 1
        place.append(
            random.choice((-3 * unit, end + unit, end + 9 * unit)) if far else random.randrange(0, end + 1, unit)
        )
    inside = all(0 <= v <= end for v, end in zip(place, last, strict=True))
    kept = tuple(min(max(v, 0), end) for v, end in zip(place, last, strict=True)) if clamp == "clamp" else tuple(place)
    return place, kept, inside or clamp == "clamp"


def surface_case(random: Random, opcode: str = "") -> Case:
    """`suld`, `sust` or `sured`; of the last two by one thread."""
    opcode = opcode or random.choice(("suld.b", "sust.b", "sust.p", "sured.b", "sured.p"))
    reduces, formatted = opcode.startswith("sured"), opcode.endswith("p")
    geometries = ("1d", "2d", "3d") if reduces or formatted else ("1d", "2d", "3d", "a1d", "a2d")
    geometry = random.choice(geometries)
    p = picture(random, geometry, surface=True)
    if opcode == "sured.p":
        while p.kind == "f" or (p.bits, p.channels) not in ((32, 1), (32, 2)):
            p = picture(random, geometry, surface=True)
    rows = _bytes_of(p).copy()
    texel = p.bits // 8 * p.channels
    clamp = random.choice(_CLAMPS)
    op, type_, vec, size = _access(random, opcode, p, texel, rows.shape[3])
    threads = THREADS if opcode == "suld.b" else 1
    given = np.zeros((THREADS, WORDS_IN), np.uint32)
    expected: list[list[int | None]] = [[0] * WORDS_OUT for _ in range(THREADS)]
    across = p.size[0] - 1 if formatted else (rows.shape[3] - size) // size * size
    ends = {"1d": (across,), "2d": (across, rows.shape[2] - 1), "3d": (across, rows.shape[2] - 1, rows.shape[1] - 1)}
    dims = DIMENSIONS[geometry]
    for t in range(threads):
        last = ends[geometry.removeprefix("a")]
        place, kept, inside = _corner(random, p, clamp, last, 1 if formatted else size)
        layer = random.randrange(p.layers) if p.layers else 0
        head = [layer] if p.layers else []
        given[t, : len(head) + dims] = [v & 0xFFFFFFFF for v in (*head, *place)]
        given[t, 8:12] = [random.getrandbits(32) for _ in range(4)]
        if opcode == "sust.p" and p.kind == "f":
            given[t, 8:12] = [_word(random.randrange(-64, 64) / 8) for _ in range(4)]
        elif opcode == "sust.p":  # what fits
            info = np.iinfo(p.levels[0].dtype)
            given[t, 8:12] = [random.randint(info.min, info.max) & 0xFFFFFFFF for _ in range(4)]
        x, y, z = (*kept, 0, 0)[:3]
        row = rows[layer, z, y] if inside else None
        begin = x * texel if formatted else x
        if opcode == "suld.b":
            data = row[begin : begin + size] if row is not None else np.zeros(size, np.uint8)
            expected[t] = _words(data, type_)
        elif row is not None:
            words = given[t, 8:12]
            row[begin : begin + size] = _written(p, opcode, op, type_, vec, words, row[begin : begin + size])
    named = random.random() < 0.4
    body = _surface_text(opcode, op, geometry, vec, type_, clamp, "T" if named else "%rd4", p)
    if threads == 1:
        body = f"setp.ne.u32 %p1, %r31, 0; @%p1 ret; {body}"
    array = p.arrays()[0]
    kept_image = Surface(array, **p.keywords())
    after = _bytes_of(p).copy()
    after[:] = rows
    text = _module(body, WORDS_OUT if opcode == "suld.b" else 0, named="surfref" if named else "")
    return Case(
        text, kept_image, given, expected, {"T": kept_image} if named else {}, [array],
        [after.reshape(-1).view(array.dtype).reshape(array.shape)], threads,
    )  # fmt: skip


def _access(random: Random, opcode: str, p: Picture, texel: int, row: int) -> tuple[str, str, int, int]:
    """An operation, a type, the elements of a vector (0: none), and bytes."""
    if opcode == "sust.p":
        vec = {1: 0, 2: 2, 4: 4}[p.channels]
        return "", "b32", vec, texel
    if opcode == "sured.p":
        wide = p.channels == 2
        return random.choice(("min", "max")) if wide else random.choice(("add", "min", "max", "and", "or")), \
            "b64" if wide else "b32", 0, texel  # fmt: skip
    if opcode == "sured.b":
        choices = [(o, t) for o, ts in (("add", "u32 s32 u64"), ("min", "u32 s32 u64 s64"), ("max", "u32 s32 u64 s64"),
                                        ("and", "b32"), ("or", "b32")) for t in ts.split()]  # fmt: skip
        fits = [(o, t) for o, t in choices if int(t[1:]) // 8 <= row] or [("add", "u32")]
        op, type_ = random.choice(fits)
        return op, type_, 0, int(type_[1:]) // 8
    fits_ = [
        (t, v) for t in (8, 16, 32, 64) for v in (0, 2, 4) if t // 8 * max(1, v) <= min(16, row) and (t, v) != (64, 4)
    ]
    bits, vec = random.choice(fits_)
    return "", f"b{bits}", vec, bits // 8 * max(1, vec)


def _words(data: Any, type_: str) -> list[int | None]:
    """What `suld` gives, as the words that the module stores."""
    size = int(type_[1:]) // 8
    parts = [int.from_bytes(data[i : i + size].tobytes(), "little") for i in range(0, len(data), size)]
    found: list[int | None] = []
    for part in parts:
        found += [part & 0xFFFFFFFF, part >> 32] if size == 8 else [part]
    return (found + [0] * WORDS_OUT)[:WORDS_OUT]


def _written(p: Picture, opcode: str, op: str, type_: str, vec: int, words: Any, old: Any) -> Any:
    size = int(type_[1:]) // 8
    if opcode == "sust.p":
        channel = p.levels[0].dtype
        values = words[: p.channels]
        numbers = values.view(np.float32).astype(channel) if p.kind == "f" else values.astype(channel)
        return numbers.view(np.uint8)
    wide = words.view(np.uint64)
    if opcode == "sust.b":
        source = wide if size == 8 else words
        parts = [int(source[n]) & ((1 << 8 * size) - 1) for n in range(max(1, vec))]
        return np.frombuffer(b"".join(v.to_bytes(size, "little") for v in parts), np.uint8)
    kind = p.kind if opcode == "sured.p" else type_[0].replace("b", "u")
    dtype = np.dtype(f"<{_DTYPES[kind]}{size}")
    a = np.frombuffer(old.tobytes(), dtype)
    b = (wide if size == 8 else words)[:1].view(dtype)
    with np.errstate(over="ignore"):
        new = {"add": a + b, "min": np.minimum(a, b), "max": np.maximum(a, b), "and": a & b, "or": a | b}[op]
    return new.astype(dtype).view(np.uint8)


def _surface_text(
    opcode: str, op: str, geometry: str, vec: int, type_: str, clamp: str, handle: str, p: Picture
) -> str:
    count = (1 if p.layers else 0) + DIMENSIONS[geometry]
    registers = [f"%r{n}" for n in range(count)]
    if count == 3:
        registers.append(registers[-1])
    where = f"[{handle}, {{{', '.join(registers)}}}]"
    prefix = {8: "%h", 16: "%h", 32: "%r", 64: "%w"}[int(type_[1:])]
    text = ""
    if prefix == "%w":
        text += " mov.b64 %w0, {%r8, %r9}; mov.b64 %w1, {%r10, %r11};"
    elif prefix == "%h":
        text += "".join(f" cvt.u16.u32 %h{n}, %r{8 + n};" for n in range(4))
    sources = [f"{prefix}{8 + n if prefix == '%r' else n}" for n in range(max(1, vec))]
    value = f"{{{', '.join(sources)}}}" if vec else sources[0]
    words = f"{f'.v{vec}' if vec else ''}.{type_}.{clamp}"
    if opcode == "suld.b":
        targets = [f"{'%o' if prefix == '%r' else prefix}{n}" for n in range(max(1, vec))]
        text += f" suld.b.{geometry}{words} {'{' + ', '.join(targets) + '}' if vec else targets[0]}, {where};"
        for n, target in enumerate(targets):
            if prefix == "%h":
                text += f" cvt.u32.u16 %o{n}, {target};"
            elif prefix == "%w":
                text += f" mov.b64 {{%o{2 * n}, %o{2 * n + 1}}}, {target};"
        return text
    if opcode.startswith("sured"):
        return text + f" {opcode}.{op}.{geometry}.{type_}.{clamp} {where}, {value};"
    return text + f" {opcode}.{geometry}{words} {where}, {value};"
