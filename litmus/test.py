"""A litmus test as a value: threads, placement, initial memory, final condition.

Equal tests are equal in everything that counts for the verdict; source positions and layout do not count.
"""

from __future__ import annotations

from dataclasses import field

from ptxcore.diagnostics import Span
from ptxcore.places import Placement
from ptxcore.records import dataclass
from ptxcore.syntax.tree import NOWHERE, AnyStatement

#: What may be asked of a test beside its condition, in the order in which it is written.
PROPERTIES = ("race_free", "no_deadlock", "terminates", "no_trap")
#: Bits of each type that a location may have.
TYPE_WIDTHS = {**{f".{kind}{bits}": bits for kind in "usb" for bits in (8, 16, 32, 64)}, ".b128": 128}


@dataclass(frozen=True, slots=True)
class AddressOf:
    """`&x`: the address of a location, as an initial value."""

    location: str


@dataclass(frozen=True, slots=True)
class Location:
    """A variable of the init block. `type` as PTX writes it (`.u32`); `elements` is None for a scalar.

    `initial` has one value for each element. An alias has the type of what it aliases and no storage of its own: `alias_of`
    names the location whose bytes it is, `proxy` (`generic`, `surface`, `texture`, `constant`) the way through which it is
    another virtual address.
    """

    name: str
    type: str = ".u32"
    space: str = "global"
    elements: int | None = None
    initial: tuple[int | AddressOf, ...] = (0,)
    align: int | None = None
    alias_of: str | None = None
    proxy: str = "generic"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class LitmusThread:
    """`dialect` is `typed` or `short`. `registers` are the initial values that the init block gives, by name without `%`.

    `place` has unique numbers at each level (see `ptxcore.places`).
    """

    name: str  # P0, P1, ...
    place: Placement
    statements: tuple[AnyStatement, ...]
    dialect: str = "typed"
    registers: tuple[tuple[str, int | AddressOf], ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


# Terms and propositions of the final statement.


@dataclass(frozen=True, slots=True)
class RegisterTerm:
    """`1:r0`; the register's name without `%`."""

    thread: str  # P1
    register: str
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.thread[1:]}:{self.register}"


@dataclass(frozen=True, slots=True)
class LocationTerm:
    """`x`, `b[2]`, or bytes read anew: `b.u16[1]` (`type` is `.u16` then)."""

    location: str
    element: int | None = None
    type: str | None = None
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        index = "" if self.element is None else f"[{self.element}]"
        return f"{self.location}{self.type or ''}{index}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: int


@dataclass(frozen=True, slots=True)
class Compare:
    """`left OP right`, `op` one of `== != < <= > >=`. A location's name on the right means its address (`AddressOf`)."""

    op: str
    left: RegisterTerm | LocationTerm | Constant
    right: RegisterTerm | LocationTerm | Constant | AddressOf


@dataclass(frozen=True, slots=True)
class Not:
    """`not operand`."""

    operand: Proposition


@dataclass(frozen=True, slots=True)
class And:
    """`a /\\ b`, of two or more."""

    operands: tuple[Proposition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """`a \\/ b`, of two or more."""

    operands: tuple[Proposition, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    """`left => right`."""

    left: Proposition
    right: Proposition


@dataclass(frozen=True, slots=True)
class Literal:
    """`true` or `false`."""

    value: bool


Proposition = Compare | Not | And | Or | Implies | Literal


@dataclass(frozen=True, slots=True)
class Condition:
    """`quantifier` is `exists`, `~exists` or `forall`. Not `asked` is what no file says: it stands for one that has none.
    `line`: where it stands; 0 where nobody knows."""

    quantifier: str = "exists"
    proposition: Proposition = Literal(True)
    asked: bool = field(default=True, compare=False)
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LaunchedKernel:
    """`kernel k1 = [P0,P1] stream 1 after k0`."""

    name: str
    threads: tuple[str, ...]
    stream: int = 0
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Test:
    """One litmus test. `more` are further conditions, each of which is answered by itself; `checks` are what is asked beside
    the conditions, of `PROPERTIES`. `meta` keeps `KEY = value` lines in
    order; `Expect` among them states the expected verdict. `lines` says in which lines of the `text` the parts behind the
    program stand, by their first words. `instance` is the number of the test where
    the file is a template of several."""

    name: str
    threads: tuple[LitmusThread, ...]
    locations: tuple[Location, ...] = ()
    condition: Condition = Condition()
    filter: Proposition | None = None
    observed: tuple[RegisterTerm | LocationTerm, ...] = ()
    kernels: tuple[LaunchedKernel, ...] = ()
    meta: tuple[tuple[str, str], ...] = ()
    comments: tuple[str, ...] = ()
    path: str = field(default="<input>", compare=False)
    text: str = field(default="", compare=False, repr=False)
    checks: tuple[str, ...] = ()
    lines: tuple[tuple[str, int], ...] = field(default=(), compare=False, repr=False)
    more: tuple[Condition, ...] = ()
    instance: str = field(default="", compare=False)

    __test__ = False  # not a test class, whatever pytest thinks of its name

    @property
    def identity(self) -> str:
        """How the test is called in reports: by its file, and its number where that has several."""
        return f"{self.path}:{self.instance}" if self.instance else self.path

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, in order."""
        return (self.condition, *self.more)

    @property
    def expectation(self) -> str:
        """The verdict that the test says it should have, or several with `|` between them: `ok` unless its meta block has
        `Expect=`."""
        return "|".join(map(str.strip, dict(self.meta).get("Expect", "ok").split("|")))
