"""What the reader makes of PTX text. Plain values: equal trees mean equal programs; where they stood does not count.

Operands know no place and are shared between statements; a statement knows where it stands and keeps its own text, from
which `ptxcore.syntax.spans` finds the place of an operand when a finding has to show it. A module is one flat sequence:
blocks are opened and closed by statements, so that no depth of nesting makes anything recurse. Nothing here is changed
after reading; the classes are not `frozen` only because that makes building them several times slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from ptxcore.diagnostics import Span
from ptxcore.records import dataclass

NOWHERE = Span(0, 0, 0)


# Operands.


@dataclass(unsafe_hash=True, slots=True)
class Name:
    """An identifier as written: a register (`%r0`, `p`), a variable, a label, a function, a special register (`%tid.x`).

    What it names, declarations say. `prefix` is `!` for a negated predicate, `-` for a negated operand (video `vmad`).
    A component or selector belongs to the name: `%v.x`, `%r1.b0`.
    """

    name: str
    prefix: str = ""

    @property
    def negated(self) -> bool:
        return self.prefix == "!"


@dataclass(unsafe_hash=True, slots=True)
class Immediate:
    """An integer: a literal, or a constant expression (section 4.5.5) already evaluated; may be negative."""

    value: int


@dataclass(unsafe_hash=True, slots=True)
class Float:
    """A floating-point constant by its bits. `width` is 32 for `0f...`, 64 for `0d...` and for decimal notation."""

    bits: int
    width: int = 64
    decimal: bool = False


@dataclass(unsafe_hash=True, slots=True)
class Address:
    """`[base + offset]`; `name[offset]` where `indexed`, with a number or a register (and then `plus`) as the index.

    Without brackets (`bracketed` is False): `name + offset`, the value of an address. `qualifier` is `unified` in
    `[name].unified`.
    """

    base: Name | Immediate
    offset: int = 0
    bracketed: bool = True
    index: Name | None = None
    indexed: bool = False
    qualifier: str = ""


@dataclass(unsafe_hash=True, slots=True)
class Sink:
    """The bit bucket `_`."""


@dataclass(unsafe_hash=True, slots=True)
class Pair:
    """`d|p`: two destinations."""

    first: Name | Sink | Vector
    second: Name | Sink


@dataclass(unsafe_hash=True, slots=True)
class Vector:
    """`{a, b}`."""

    elements: tuple[Operand, ...]


@dataclass(unsafe_hash=True, slots=True)
class Bracket:
    """`[a, {x, y}]`, `[t, s, {x}]`: a texture, surface or tensor map with coordinates."""

    elements: tuple[Operand, ...]


@dataclass(unsafe_hash=True, slots=True)
class Arguments:
    """`(a, b)`: results or arguments of a call."""

    elements: tuple[Operand, ...]


@dataclass(unsafe_hash=True, slots=True)
class QuotedText:
    """`"..."` as written, without its quotes."""

    text: str


@dataclass(unsafe_hash=True, slots=True)
class Wrapped:
    """`generic(name)`, `mask(name)` of an initialiser: `operator` around an address; `mask` is 0xFF, 0xFF00 ...

    `field = value` of a texture's initialiser has the field as its operator, `a - b` of debugging data `-` around a
    Vector of the two labels. `generic(name) + 4` is `generic` around `name + 4`.
    """

    operator: str
    inner: Operand
    mask: int = 0


Operand = Name | Immediate | Float | Address | Sink | Pair | Vector | Bracket | Arguments | QuotedText | Wrapped


# Statements.


@dataclass(unsafe_hash=True, slots=True)
class Statement:
    """`span` is the place of the leading word; `text` the whole statement as it stood, beginning at `span`'s column or,
    for an instruction with a guard, before it (`lead` characters earlier)."""

    span: Span = field(default=NOWHERE, compare=False, kw_only=True)
    text: str = field(default="", compare=False, kw_only=True, repr=False)


@dataclass(unsafe_hash=True, slots=True)
class Label(Statement):
    """`name:`"""

    name: str


class Instruction:
    """`@guard opcode.modifier.modifier operand, operand;`

    `opcode` is the first word, `modifiers` the others in the order written, without their dots (`shared::cta` is one).
    `span` is where the opcode and its modifiers stand; `text` is the statement from `start` on (line, column).
    """

    __slots__ = ("guard", "modifiers", "opcode", "operands", "span", "start", "text")

    def __init__(
        self,
        opcode: str,
        modifiers: tuple[str, ...],
        operands: tuple[Operand, ...],
        guard: Name | None = None,
        span: Span = NOWHERE,
        text: str = "",
        start: tuple[int, int] = (0, 0),
    ) -> None:
        self.opcode = opcode
        self.modifiers = modifiers
        self.operands = operands
        self.guard = guard
        self.span = span
        self.text = text
        self.start = start

    @property
    def name(self) -> str:
        """`opcode.modifier.modifier`."""
        return ".".join((self.opcode, *self.modifiers))

    def _key(self) -> tuple[object, ...]:
        return self.opcode, self.modifiers, self.operands, self.guard

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instruction) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Instruction{self._key()!r}"


@dataclass(unsafe_hash=True, slots=True)
class Declarator:
    """One name of a declaration. `count` is N of `name<N>`; `dimensions` those of an array, None for `[]`;
    `value` the initialiser: an operand, or (nested) `Vector`s of them."""

    name: str
    count: int | None = None
    dimensions: tuple[int | None, ...] = ()
    value: Operand | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(unsafe_hash=True, slots=True)
class Declaration(Statement):
    """`.extern .global .attribute(.managed) .align 8 .v4 .f32 a[2], b = ...;`, registers and parameters too.

    `space` without its dot (`reg`, `global`, `param` ...; `tex` and `sreg` of early versions), `bank` for `.const[2]`;
    `type` (`texref`, `samplerref`, `surfref` count as types); `linkage` is `extern`, `visible`, `weak`, `common` or "";
    `attributes` by name with their numbers; `pointer` for `.ptr` of a kernel parameter: its space ("" for generic) and
    alignment. `number` is the register number that a special-register declaration of PTX 1.x gave.
    """

    space: str
    type: str
    names: tuple[Declarator, ...]
    vector: str = ""
    align: int | None = None
    linkage: str = ""
    attributes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    bank: int | None = None
    pointer: tuple[str, int | None] | None = None


@dataclass(unsafe_hash=True, slots=True)
class Function(Statement):
    """The head of `.entry` or `.func` (`kind`), and its performance directives. A definition's body follows between
    `OpenBrace` and `Close`; a declaration has none (`defined` is False). Parameters are declarations of one name each;
    None where the parentheses are missing altogether."""

    kind: str
    name: str
    results: tuple[Declaration, ...] = ()
    parameters: tuple[Declaration, ...] | None = None
    linkage: str = ""
    attributes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    directives: tuple[Directive, ...] = ()
    defined: bool = True
    name_span: Span = field(default=NOWHERE, compare=False)


@dataclass(unsafe_hash=True, slots=True)
class Directive(Statement):
    """Any other directive: `.version`, `.target`, `.loc`, `.pragma`, `.maxntid`, `.branchtargets` ...

    `name` without its dot; `arguments` in order: Name, Immediate, Text. A version is two Immediates; a flag word among
    the arguments (`inlined_at`, `function_name`) is a Name, and what belongs to it follows. `N<5>` of `.branchtargets`
    is N0 to N4. `@@DWARF` is the name of an old line of debugging data, its Text the rest of the line.
    """

    name: str
    arguments: tuple[Operand, ...] = ()


@dataclass(unsafe_hash=True, slots=True)
class Prototype(Statement):
    """`.callprototype (results) _ (parameters) ...;` under the label before it."""

    results: tuple[Declaration, ...] = ()
    parameters: tuple[Declaration, ...] | None = None
    directives: tuple[Directive, ...] = ()


@dataclass(unsafe_hash=True, slots=True)
class Section(Statement):
    """`.section NAME { ... }` of debugging data: lines of (label, type, values); a label is a line of its own, with
    neither type nor values. The name keeps its dot."""

    name: str
    lines: tuple[tuple[str, str, tuple[Operand, ...]], ...] = ()


@dataclass(unsafe_hash=True, slots=True)
class OpenBrace(Statement):
    """`{`"""


@dataclass(unsafe_hash=True, slots=True)
class Close(Statement):
    """`}`"""


AnyStatement = Label | Instruction | Declaration | Function | Directive | Prototype | Section | OpenBrace | Close


@dataclass(unsafe_hash=True, slots=True)
class Module:
    """A whole translation unit: its statements, in order. `source` is the text that was read."""

    statements: tuple[AnyStatement, ...]
    source: str = field(default="", compare=False, repr=False)


def parts_of(operand: Operand) -> tuple[Operand, ...]:
    """The operands that an operand is made of: elements, both destinations, the base and the index of an address."""
    if isinstance(operand, Vector | Bracket | Arguments):
        return operand.elements
    if isinstance(operand, Pair):
        return operand.first, operand.second
    if isinstance(operand, Address):
        return (operand.base,) if operand.index is None else (operand.base, operand.index)
    return ()


def names_in(*operands: Operand) -> Iterator[str]:
    """The names that stand in operands, from left to right."""
    waiting = list(reversed(operands))
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Name):
            yield operand.name
        waiting += reversed(parts_of(operand))
