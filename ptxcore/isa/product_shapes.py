"""Products of matrices as instructions of warps compute them: whose registers hold which elements, of dense, sparse and scaled
matrices (PTX ISA 9.0, sections 9.7.14.3, 9.7.14.5 and 9.7.14.6)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ptxcore.isa.form import Use
from ptxcore.isa.fragments import (
    ACCUMULATORS,
    AT_ONCE,
    BITS,
    METADATA,
    FragmentLayout,
    Metadata,
    multiplicand,
    shape,
)
from ptxcore.records import NamedTuple
from ptxcore.values.products import is_float

WARP = 32
#: Where an element lies in a byte that it does not fill (section 9.7.14.5.14).
LOW = {"e2m1": 2}
HELD_BITS = {"e2m1": 4, "e3m2": 6, "e2m3": 6}


class MatrixPart(NamedTuple):
    """A matrix in registers: of `registers` of `width` bits a thread, elements of `kind` in containers of `bits`, `each` in a
    thread. `places`: for each element of the matrix, row by row, whose it is: `lane * each + number`."""

    kind: str
    bits: int
    width: int
    first: int  # of the values that a thread brings
    registers: int
    each: int
    rows: int
    columns: int
    places: tuple[int, ...]


class Sparse(NamedTuple):
    """Of a sparse A: `wide` elements to a chunk, `group` of which count or not together; who has the metadata of each chunk,
    row by row, and from which bit on."""

    wide: int
    group: int
    ordered: bool
    holders: tuple[tuple[int, int], ...]
    at: int  # of the values that a thread brings


class Scaled(NamedTuple):
    """Of block scaling: the type of scales, how many to a row of A (and a column of B), and of each row (and column) who has
    them."""

    kind: str
    chunks: int
    at: int


class ProductShape(NamedTuple):
    """An instruction: M, N and K, how many products at once, its matrices."""

    m: int
    n: int
    k: int
    blocks: int
    a: MatrixPart
    b: MatrixPart
    c: MatrixPart
    d: MatrixPart
    mode: str
    saturates: bool
    operation: str
    sparse: Sparse | None
    scaled: Scaled | None


#: How fragments lie, by instruction: (how, matrix, element type, bits of its container, registers) -> layout.
Layouts = Callable[[Use, str, str, int, int], Any]


def of_mma(how: Use, matrix: str, kind: str, bits: int, registers: int) -> FragmentLayout:
    """The fragments of `mma`."""
    name = how.words["shape"]
    m, _, _ = shape(name)
    per = max(1, 32 // bits)
    if name == "m8n8k4" and how.words["atype"] == "f16":
        layout = how.words[f"{matrix}layout"] if matrix in "ab" else ""
        return AT_ONCE[("c" if matrix == "d" else matrix), layout or kind]
    if matrix in "ab":
        return multiplicand(m if matrix == "a" else 8, per, registers, down=matrix == "b")
    return ACCUMULATORS[m]


@lru_cache(maxsize=1024)
def product(how: Use, layouts: Layouts) -> ProductShape:
    """The product that an instruction computes."""
    words, name = how.words, how.words["shape"]
    m, n, k = shape(name)
    at_once = 4 if name == "m8n8k4" and words["atype"] == "f16" and layouts is of_mma else 1
    sparse = "sp" if words["spvariant"] or how.has("sp::ordered_metadata") else ""
    tight = how.has("kind::mxf4 kind::mxf4nvf4")
    lengths = {e.parameter.name: e.length for e in how.wanted}
    parts: dict[str, MatrixPart] = {}
    first = 0
    for matrix in "abcd":
        kind = words[f"{matrix}type"] or "f16"
        bits = 4 if tight and matrix in "ab" else max(8, BITS[kind]) if is_float(kind) else BITS[kind]
        width = 64 if kind == "f64" else 32
        registers = lengths[matrix]
        rows, columns = {"a": (m * at_once, k // 2 if sparse else k), "b": (k, n * at_once)}.get(
            matrix, (m * at_once, n)
        )
        layout = layouts(how, matrix, kind, bits, registers)
        count = registers * width // bits
        places: dict[tuple[int, int], int] = {}
        for lane in range(WARP):
            for element in range(count):
                places.setdefault(layout.place(lane, element), lane * count + element)
        ordered = tuple(places[row, column] for row in range(rows) for column in range(columns))
        parts[matrix] = MatrixPart(
            kind, bits, width, 0 if matrix == "d" else first, registers, count, rows, columns, ordered
        )
        first += registers
    first -= parts["d"].registers
    operation = "and" if how.has("and") else "xor" if how.has("xor") else ""
    found = ProductShape(
        m, n, k, at_once, parts["a"], parts["b"], parts["c"], parts["d"], words["rnd"] or "rn", bool(words["satfinite"]),
        operation, _sparse(how, m, k, parts["a"], tight, first) if sparse else None, None,
    )  # fmt: skip
    if how.has("block_scale"):
        chunks = {"4X": 4, "2X": 2, "1X": 1}[words["scale_vec_size"][-2:] or ("2X" if tight else "1X")]
        found = found._replace(scaled=Scaled(words["stype"], chunks, first + (2 if sparse else 0)))
    return found


def _sparse(how: Use, m: int, k: int, a: MatrixPart, tight: bool, at: int) -> Sparse:
    kind = a.kind
    pairs = tight or kind in ("s4", "u4")
    wide = 8 if pairs else 2 if kind == "tf32" else 4
    chunks = k // wide
    layout: Metadata = METADATA[chunks, BITS[kind] >= 16]
    holders = tuple(
        (
            4 * (row % 8) + j // layout.chunks * layout.across + row // 8 * layout.below,
            4 * (j % layout.chunks) + (0 if layout.below else 16 * (row // 8)),
        )
        for row in range(m)
        for j in range(chunks)
    )
    return Sparse(wide, 2 if pairs else 1, how.has("sp::ordered_metadata"), holders, at)


def _each(sparse: Sparse, how: Use) -> int:
    return METADATA[len(sparse.holders) // 16, BITS[how.words["atype"]] >= 16].each


def selected(sparse: Sparse, how: Use, selector: int) -> list[tuple[int, int]]:
    """Who has the metadata of each chunk, with the selector that is written."""
    further = _each(sparse, how) * selector
    return [(lane // 4 * 4 + (lane + further) % 4, bit) for lane, bit in sparse.holders]


def meaningful(sparse: Sparse, how: Use, selector: int) -> bool:
    """Whether the manual has a meaning for a selector; ptxas takes more."""
    return _each(sparse, how) * selector < 4
