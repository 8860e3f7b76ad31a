"""What cuda.h calls the formats, flags and kinds of textures, surfaces and arrays."""

from __future__ import annotations

#: What cuda.h calls the formats of channels, by kind and bits.
FORMATS = {
    ("u", 8): 1,
    ("u", 16): 2,
    ("u", 32): 3,
    ("s", 8): 8,
    ("s", 16): 9,
    ("s", 32): 10,
    ("f", 16): 16,
    ("f", 32): 32,
}
MODES = {"wrap": 0, "clamp_to_edge": 1, "mirror": 2, "clamp_to_border": 3}
#: Flags of arrays, and of textures.
LAYERED_ARRAY, SURFACE, CUBEMAP, GATHER = 1, 2, 4, 8
INTEGERS, NORMALIZED = 1, 2
#: What a texture or a surface is of, and where a copy goes and comes from.
OF_ARRAY, OF_LEVELS, ON_HOST, IN_ARRAY = 0, 1, 1, 3
#: References keep the format of their array; that of a reference of integers is said again.
OVERRIDE = 1
