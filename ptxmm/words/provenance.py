"""Where a final value comes from, in words."""

from __future__ import annotations

#: How much is not swizzled: rows of pieces of 16 bytes.
_NONE = 16


def swizzle(line: int) -> str:
    """The swizzle of a pattern whose rows have so many bytes, as tensor maps call it."""
    return "none" if line == _NONE else f"{line}B"


def written(label: str, thread: str) -> str:
    """Who wrote an element last."""
    return f"{label} was written last here, by {thread}"


def read(matrix: str, line: int, by: str, map_: tuple[str, int] | None) -> str:
    """A product that the value may be computed of reads a matrix that was written elsewhere; `map_`: the swizzle of the tensor
    map by which it was copied, and the bytes of a row of its box, where these differ from the descriptor's."""
    if map_ is None:
        return f"it may be computed of this product, whose {matrix} was written at {by}"
    mode, inner = map_
    how = (
        f"it may be computed of this product, which reads {matrix} with swizzle {swizzle(line)}, as its descriptor says"
    )
    if swizzle(line) != mode:
        return f"{how}; the copy at {by} wrote these bytes with swizzle {mode}, as its tensor map says"
    how += f", in rows of {line} bytes"
    return f"{how}; the copy at {by} wrote these bytes in rows of {inner}, as the box of its tensor map says"


def more(count: int) -> str:
    return f"and of {count} more"
