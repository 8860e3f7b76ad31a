"""Textures, surfaces and samplers as values: what stands behind a handle (PTX ISA 9.0, section 5.3).

An image is texels in memory: of each level of detail, layer by layer, slice by slice, row by row, the channels of a texel
behind each other. The manual hides the layout; nobody sees this one but who gives the memory a name of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.records import NamedTuple

#: Geometries, with their dimensions.
DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2, "acube": 2, "2dms": 2, "a2dms": 2}
#: Those that have layers, those whose layers are the faces of cubes, those with several samples a texel.
LAYERED = frozenset(("a1d", "a2d", "acube", "a2dms"))
CUBES = frozenset(("cube", "acube"))
SAMPLED = frozenset(("2dms", "a2dms"))
#: Modes of filtering and addressing, as `txq` numbers them.
FILTERS = ("nearest", "linear")
ADDRESSING = ("wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border")
#: OpenCL's numbers (section 5.3.3), by kind of a channel, its bits, and whether it is read as a fraction.
_DATA_TYPES = {
    ("s", 8, True): 0x10D0, ("s", 16, True): 0x10D1, ("u", 8, True): 0x10D2, ("u", 16, True): 0x10D3,
    ("s", 8, False): 0x10D7, ("s", 16, False): 0x10D8, ("s", 32, False): 0x10D9, ("u", 8, False): 0x10DA,
    ("u", 16, False): 0x10DB, ("u", 32, False): 0x10DC, ("f", 16, False): 0x10DD, ("f", 32, False): 0x10DE,
}  # fmt: skip
_ORDERS = {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}


class Format(NamedTuple):
    """What a texel is: `channels` of `bits` bits, unsigned (`u`), signed (`s`) or floating-point (`f`)."""

    kind: str
    bits: int
    channels: int = 1

    @property
    def channel_bytes(self) -> int:
        """Bytes of a channel."""
        return self.bits // 8

    @property
    def texel_bytes(self) -> int:
        """Bytes of a texel."""
        return self.channel_bytes * self.channels

    def __str__(self) -> str:
        return f"{self.kind}{self.bits}" + (f"x{self.channels}" if self.channels > 1 else "")


#: All that there are, by name.
FORMATS = {
    str(f): f
    for kind, sizes in (("u", (8, 16, 32)), ("s", (8, 16, 32)), ("f", (16, 32)))
    for bits in sizes
    for channels in (1, 2, 4)
    for f in (Format(kind, bits, channels),)
}


class Sampler(NamedTuple):
    """How coordinates become texels. `border` are bits of a channel as an instruction would return it (of 32); levels of detail
    are moved by `bias` and kept between `lowest` and `highest`. `forced`: unnormalised coordinates whatever the texture
    says."""

    filter: str = "nearest"
    address: tuple[str, str, str] = ("clamp_to_edge",) * 3
    level_filter: str = "nearest"
    bias: float = 0.0
    lowest: float = 0.0
    highest: float = float("inf")
    border: tuple[int, int, int, int] = (0, 0, 0, 0)
    forced: bool = False


class Image(NamedTuple):
    """`kind` is `texref`, `surfref` or `samplerref` (a sampler alone). `bases` are the addresses of its levels of detail,
    `layers` those of an array, of cubes whole ones; `height`, `depth` and `layers` are 0 where there are none. `normalized`:
    coordinates are fractions of the size; `fractions`: integers are read as fractions of the largest. `linear`: linear memory,
    with rows of `pitch` bytes where these are longer than their texels. `contents` has the bytes of each level where nobody can
    write them."""

    kind: str
    name: str
    geometry: str = "1d"
    format: Format = Format("u", 32)
    width: int = 1
    height: int = 0
    depth: int = 0
    layers: int = 0
    samples: int = 0
    mipmapped: bool = False
    sampler: Sampler = Sampler()
    normalized: bool = False
    fractions: bool = False
    linear: bool = False
    pitch: int = 0
    bases: tuple[int, ...] = (0,)
    contents: tuple[bytes, ...] = ()

    @property
    def levels(self) -> int:
        """How many levels of detail there are."""
        return len(self.bases)

    @property
    def returns_floats(self) -> bool:
        """Whether what is read is floating-point."""
        return self.format.kind == "f" or self.fractions

    @property
    def slices(self) -> int:
        """Layers, faces of cubes counted one by one."""
        return max(1, self.layers) * (6 if self.geometry in CUBES else 1)

    def size(self, level: int = 0) -> tuple[int, int, int]:
        """Width, height and depth of a level (section 9.7.10.2), 1 where there is no such dimension."""
        w, h, d = (max(1, n >> level) for n in (self.width, self.height, self.depth))
        return w, h, d

    def row(self, level: int = 0) -> int:
        """Bytes from one row of a level to the next."""
        return self.pitch or self.size(level)[0] * max(1, self.samples) * self.format.texel_bytes

    def bytes(self, level: int = 0) -> int:
        """Bytes of a level."""
        _, h, d = self.size(level)
        rows = self.slices * d * h
        return (rows - 1) * self.row(level) + self.size(level)[0] * max(1, self.samples) * self.format.texel_bytes

    def queried(self, attribute: str, level: int = 0) -> int:
        """What `txq` and `suq` tell (sections 9.7.10.5 and 9.7.11.4)."""
        if attribute in ("width", "height", "depth"):
            at = ("width", "height", "depth").index(attribute)
            return self.size(level)[at] if (self.width, self.height, self.depth)[at] else 0
        if attribute.startswith("addr_mode_"):
            return ADDRESSING.index(self.sampler.address[int(attribute[-1])])
        return {
            "channel_data_type": _DATA_TYPES[self.format.kind, self.format.bits, self.fractions],
            "channel_order": _ORDERS[self.format.channels],
            "normalized_coords": int(self.normalized),
            "array_size": self.layers,
            "num_mipmap_levels": self.levels if self.mipmapped else 0,
            "num_samples": self.samples,
            "filter_mode": FILTERS.index(self.sampler.filter),
            "force_unnormalized_coords": int(self.sampler.forced),
            "memory_layout": int(self.linear),
        }[attribute]


def geometry_of(dimensions: int, *, layered: bool = False, cube: bool = False, samples: int = 0) -> str:
    """The geometry of an image. Raises ValueError where there is none such."""
    name = "cube" if cube else f"{dimensions}d" + ("ms" if samples else "")
    found = f"a{name}" if layered else name
    if found not in DIMENSIONS or (cube and (dimensions != 2 or samples)):
        what = [f"{dimensions}D"] + ["layered"] * layered + ["cube"] * cube + ["multi-sample"] * bool(samples)
        raise ValueError(f"there are no {' '.join(what)} images")
    return found


def level_offsets(image: Image, count: int) -> Sequence[int]:
    """Where levels of detail begin that stand behind each other, and where the last one ends."""
    found = [0]
    for level in range(count):
        found.append(found[-1] + image.bytes(level))
    return found
