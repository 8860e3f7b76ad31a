"""The init block: locations with their initial values, aliases, initial registers, kernels."""

from __future__ import annotations

import math
import re
import struct

from litmus.formats.ctypes import C_TYPES, QUALIFIERS
from litmus.formats.source import LitmusSource
from litmus.test import TYPE_WIDTHS, AddressOf, LaunchedKernel, Location
from ptxcore.diagnostics import InputError, Span

#: State spaces that a location can be in.
SPACES = ("global", "shared", "const")
PROXIES = ("generic", "surface", "texture", "constant")
#: The largest array that a test may declare, in elements.
MAX_ELEMENTS = 65_536
#: Types of a location, as messages list them.
_TYPES = ", ".join(TYPE_WIDTHS)

_SIMPLE = re.compile(
    r"\s*+(?:P?(\d{1,9}+)\s*+:\s*+%?)?([A-Za-z_$][\w$]*+)\s*+=\s*+(-?[1-9]\d{0,17}+|0)\s*+\Z", re.ASCII
)
_TOKEN = re.compile(r"\s*+(%?[A-Za-z_$][\w$]*+|\.[A-Za-z][\w:]*+|-?\d\w*+(?:\.\d\w*+)?|\S)", re.ASCII)
_FLOATING = re.compile(r"-?\d{1,20}+\.\d{1,20}+(?:[eE]\d{1,3}+)?", re.ASCII)
#: What a location or a register may be called.
NAME = re.compile(r"[A-Za-z_$][\w$]*+", re.ASCII)
#: The types that a register may be declared with.
REGISTER_TYPES = (*TYPE_WIDTHS, ".f16", ".f32", ".f64", ".pred")
_THREAD = re.compile(r"P?(\d{1,9})", re.ASCII)

InitialValue = int | AddressOf
DeclarationToken = tuple[str, int, int]


def read_value(word: str) -> int | None:
    """The number that a word spells: decimal, hexadecimal, or negative; None when it is none."""
    digits = word[1:] if word.startswith("-") else word
    try:
        if digits[:2] in ("0x", "0X"):
            value = int(digits[2:], 16) if digits[2:].isalnum() else None
        else:
            plain = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")
            value = int(digits) if plain else None
    except ValueError:  # no hexadecimal number, or more digits than Python converts
        return None
    return -value if value is not None and digits is not word else value


def fits(value: int, width: int) -> bool:
    """Whether a value is one of `width` bits, read as signed or as unsigned."""
    return -(1 << (width - 1)) <= value < 1 << width


def value_hint(word: str) -> str:
    """What would be right where `word` stands and a value is wanted."""
    if _FLOATING.fullmatch(word):
        return f"numbers are bits: {word} is {_bits(word, '>f')} as .f32, {_bits(word, '>d')} as .f64"
    if word[:1] == "0" and word.isdigit():
        return "write decimal numbers without leading zeros"
    return "values are decimal, hexadecimal (0x1f), or negative"


def _bits(word: str, form: str) -> str:
    """The bits of a floating-point number in a form of `struct`; those of an infinity, where it is too large."""
    try:
        return "0x" + struct.pack(form, float(word)).hex()
    except OverflowError:
        return "0x" + struct.pack(form, math.copysign(math.inf, float(word))).hex()


class Declarations:
    """What an init block declares; spans are for the checks that need the program. `implied` are locations of which it only
    takes the address; `types` are those of registers that it declares."""

    __slots__ = (
        "addresses",
        "implied",
        "kernel_spans",
        "kernels",
        "locations",
        "named",
        "registers",
        "thread_spans",
        "types",
    )

    def __init__(self) -> None:
        self.locations: dict[str, Location] = {}
        self.registers: dict[str, dict[str, InitialValue]] = {}  # by thread
        self.thread_spans: dict[str, Span] = {}
        self.kernels: list[LaunchedKernel] = []
        self.kernel_spans: list[Span] = []
        self.named: list[tuple[str, Span]] = []  # names that must be locations
        self.addresses: list[tuple[str, Span]] = []  # likewise; what declares none of that name implies it
        self.implied: dict[str, bool] = {}  # whether an access has told the type
        self.types: dict[str, dict[str, str]] = {}  # by thread


def read_declarations(source: LitmusSource, opening: int) -> tuple[Declarations, int]:
    """The block that opens with the `{` at `opening`, and the offset after its `}`. Findings go to the source."""
    text = source.text
    closing = text.find("}", opening)
    inner = text.find("{", opening + 1, closing)
    while inner >= 0 and closing >= 0:  # an initialiser's braces
        inner = text.find("{", closing + 1, (closing := text.find("}", closing + 1)) if closing >= 0 else 0)
    if closing < 0:
        raise source.error(opening, opening + 1, "the init block is never closed", "close it with '}'")
    found = Declarations()
    at = opening + 1
    for piece in text[at:closing].split(";"):
        end = at + len(piece)
        if piece and not piece.isspace():
            try:
                _read_declaration(source, found, piece, at, end)
            except InputError as error:
                source.keep(error)
        at = end + 1
    if not source.findings:
        settle(source, found)
    return found, closing + 1


def _read_declaration(source: LitmusSource, found: Declarations, piece: str, start: int, end: int) -> None:
    simple = _SIMPLE.match(piece)
    if simple is None:
        _Declaration(source, found, start, end).read()
        return
    thread, name, value = simple[1], simple[2], int(simple[3])
    span = source.span(start + simple.start(2), start + simple.end(2))
    if thread is not None:
        _add_register(source, found, f"P{int(thread)}", name, value, span)
    elif fits(value, 32):
        _add_location(source, found, Location(name, initial=(value,), span=span))
    else:
        source.note(start + simple.start(3), start + simple.end(3), f"{simple[3]} is out of the range of .u32")


def _add_location(source: LitmusSource, found: Declarations, location: Location) -> None:
    if location.name in found.locations:
        hint = "give type and value at once, as in '.u64 p = &x'"
        source.note_at(location.span, f"location '{location.name}' is declared twice", hint)
    found.locations[location.name] = location


def _add_register(
    source: LitmusSource, found: Declarations, thread: str, name: str, value: InitialValue, span: Span
) -> None:
    registers = found.registers.setdefault(thread, {})
    if name in registers:
        source.note_at(span, f"register {name} of {thread} is given a value twice")
    elif isinstance(value, int) and not fits(value, 64):
        source.note_at(span, f"the value of {thread}:{name} has more than 64 bits")
    registers[name] = value
    found.thread_spans.setdefault(thread, span)


class _Declaration:
    """One declaration of the less simple kinds, read token by token."""

    def __init__(self, source: LitmusSource, found: Declarations, start: int, end: int) -> None:
        self.source = source
        self.found = found
        self.end = end
        self.tokens: list[DeclarationToken] = [
            (m[1], m.start(1), m.end(1)) for m in _TOKEN.finditer(source.text, start, end) if m
        ]
        self.next = 0

    # Tokens.

    def peek(self, ahead: int = 0) -> str:
        at = self.next + ahead
        return self.tokens[at][0] if at < len(self.tokens) else ""

    def take(self) -> DeclarationToken:
        if self.next >= len(self.tokens):
            last = self.tokens[-1][2]
            raise self.source.error(last, last + 1, "the declaration ends too early")
        self.next += 1
        return self.tokens[self.next - 1]

    def wrong(self, message: str, hint: str | None = None) -> InputError:
        """The error at the next token."""
        _, start, end = self.take()
        return self.source.error(start, end, message, hint)

    def expect(self, word: str) -> None:
        if self.peek() != word:
            raise self.wrong(f"expected '{word}'")
        self.next += 1

    def name(self, what: str) -> DeclarationToken:
        if not NAME.fullmatch(self.peek()):
            raise self.wrong(f"expected {what}")
        return self.take()

    def number(self, what: str) -> int:
        value = read_value(self.peek())
        if value is None or not 0 <= value < 1 << 31:
            raise self.wrong(f"expected {what}", "a decimal number")
        self.take()
        return value

    def finish(self) -> None:
        if self.next < len(self.tokens):
            word, start, _ = self.tokens[self.next]
            hint = "declarations are separated by ';'"
            raise self.source.error(start, self.tokens[-1][2], f"unexpected '{word}' after the declaration", hint)

    def thread(self) -> str:
        found = _THREAD.fullmatch(self.peek())
        if found is None:
            raise self.wrong("expected a thread", "threads are P0, P1, ...")
        self.take()
        return f"P{int(found[1])}"

    # Declarations.

    def read(self) -> None:
        second = self.peek(1)
        if second == ":":
            self.register()
        elif second == "@":
            self.alias()
        elif self.peek() == "kernel" and second != "=":
            self.kernel()
        else:
            self.location()
        self.finish()

    def register(self) -> None:
        start = self.tokens[self.next][1]
        thread = self.thread()
        self.expect(":")
        type_ = self.register_type() if self.peek() == ".reg" else ""
        word, _, end = self.take()
        if not NAME.fullmatch(word.removeprefix("%")):
            raise self.source.error(end - len(word), end, f"'{word}' is no register")
        span, name = self.source.span(start, end), word.removeprefix("%")
        if type_:
            types = self.found.types.setdefault(thread, {})
            if name in types:
                self.source.note_at(span, f"register {name} of {thread} is declared twice")
            types[name] = type_
            self.found.thread_spans.setdefault(thread, span)
        if not self.peek():
            if not type_:
                _add_register(self.source, self.found, thread, name, 0, span)
            return
        self.expect("=")
        _add_register(self.source, self.found, thread, name, self.value(64, implies=True), span)

    def register_type(self) -> str:
        """`.reg .s32` before a register's name: its type."""
        self.take()
        word = self.peek()
        if word not in REGISTER_TYPES:
            hint = self.source.suggest(word, REGISTER_TYPES) or "as in '0:.reg .s32 r0'"
            raise self.wrong(
                f"'{word[:40]}' is no type of a register" if word else "the register's type is missing", hint
            )
        self.take()
        return word

    def value(self, width: int, type_: str = "", *, implies: bool = False) -> InitialValue:
        """A number, or a location's address: `&x` or `x`. `implies`: the location need not be declared."""
        word = self.peek()
        if word == "&" or NAME.fullmatch(word):
            if word == "&":
                self.take()
            name, start, end = self.name("a location")
            if width < 32:
                raise self.source.error(
                    start - (word == "&"), end, f"an address does not fit into {type_}", "declare it as .u64"
                )
            (self.found.addresses if implies else self.found.named).append((name, self.source.span(start, end)))
            return AddressOf(name)
        value = read_value(word)
        if value is None:
            raise self.wrong(f"'{word[:40]}' is no value" if word else "a value is missing", value_hint(word))
        _, start, end = self.take()
        if not fits(value, width):
            raise self.source.error(start, end, f"{word[:40]} is out of the range of {type_ or 'a register'}")
        return value

    def location(self) -> None:
        space, type_, align = "global", "", None
        first = self.peek()
        pointer = self.c_type()
        if pointer is not None:
            type_ = ".u64" if pointer == "*" else C_TYPES[pointer]
        while self.peek().startswith(".") and pointer is None:
            word, start, end = self.take()
            if word == ".align":
                align = self.number("the alignment in bytes")
                if align == 0 or align & (align - 1) or align > 128:
                    raise self.source.error(
                        start, self.tokens[self.next - 1][2], "an alignment is a power of two up to 128"
                    )
            elif word in TYPE_WIDTHS and not type_:
                type_ = word
            elif word[1:] in SPACES and not type_ and self.next == 1:
                space = word[1:]
            else:
                known = [f".{s}" for s in SPACES] + list(TYPE_WIDTHS)
                if word in known:
                    raise self.source.error(start, end, f"{word} stands in the wrong place", "as in '.shared .u64 x'")
                hint = self.source.suggest(word, known) or f"spaces are .global, .shared, .const; types are {_TYPES}"
                raise self.source.error(start, end, f"unknown type or space '{word[:40]}' of a location", hint)
        bracketed = self.peek() == "["
        if bracketed:
            self.take()
        name, start, end = self.name("a location's name")
        if bracketed:
            self.expect("]")
        if first.startswith(".") and not type_:
            raise self.source.error(start, end, f"the type of '{name}' is missing", "as in '.global .u32 x'")
        span = self.source.span(start, end)
        elements = self.elements() if self.peek() == "[" else None
        if not self.peek():
            initial: tuple[InitialValue, ...] = (0,) * (elements or 1)
        else:
            self.expect("=")
            if not type_ and (self.peek() == "&" or NAME.fullmatch(self.peek())):
                type_ = ".u64"  # what an address needs
            type_ = type_ or ".u32"
            initial = self.initial(name, type_, elements)
        location = Location(name, type_ or ".u32", space, elements, initial, align, span=span)
        _add_location(self.source, self.found, location)

    def c_type(self) -> str | None:
        """A type of C before a location's name: its word, `*` for a pointer, None where there is none."""
        at = self.next
        while self.peek() in QUALIFIERS:
            self.take()
        word, following = self.peek(), self.peek(1)
        named = NAME.fullmatch(following) or (following == "[" and NAME.fullmatch(self.peek(2)))
        if NAME.fullmatch(word) and (named or following == "*"):
            if word not in C_TYPES and following != "*":
                hint = (
                    self.source.suggest(word, C_TYPES) or "declarations look like 'int x = 0', and a ';' separates them"
                )
                raise self.wrong(f"unknown type '{word[:40]}'", hint)
            self.take()
        elif word != "*":
            self.next = at
            return None
        if self.peek() == "*":
            self.take()
            return "*"
        return word

    def elements(self) -> int:
        self.expect("[")
        _, start, end = self.tokens[min(self.next, len(self.tokens) - 1)]
        count = self.number("the number of elements")
        if not 1 <= count <= MAX_ELEMENTS:
            raise self.source.error(start, end, f"an array has 1 to {MAX_ELEMENTS} elements")
        self.expect("]")
        return count

    def initial(self, name: str, type_: str, elements: int | None) -> tuple[InitialValue, ...]:
        width = TYPE_WIDTHS[type_]
        if self.peek() != "{":
            if elements is not None:
                raise self.wrong(f"the array '{name}' takes a list of values", "as in '= {1, 2}'")
            return (self.value(width, type_),)
        start = self.take()[1]
        values: list[InitialValue] = []
        while self.peek() != "}":
            values.append(self.value(width, type_))
            if self.peek() != "}":
                self.expect(",")
        end = self.take()[2]
        room = elements or 1
        if len(values) > room or (elements is None and len(values) != 1):
            message = f"'{name}' has {room} element{'s' * (room > 1)}, but {len(values)} values are given"
            raise self.source.error(start, end, message)
        return (*values, *(0,) * (room - len(values)))

    def alias(self) -> None:
        name, start, end = self.name("a location's name")
        self.expect("@")
        proxy, proxy_start, proxy_end = self.take()
        if proxy not in PROXIES:
            hint = self.source.suggest(proxy, PROXIES) or "proxies are generic, surface, texture, constant"
            raise self.source.error(proxy_start, proxy_end, f"unknown proxy '{proxy[:40]}'", hint)
        self.expect("aliases")
        target, target_start, target_end = self.name("the location that it aliases")
        self.found.named.append((target, self.source.span(target_start, target_end)))
        location = Location(name, alias_of=target, proxy=proxy, span=self.source.span(start, end))
        _add_location(self.source, self.found, location)

    def kernel(self) -> None:
        self.take()
        name, start, end = self.name("the kernel's name")
        self.expect("=")
        self.expect("[")
        threads = [self.thread()]
        while self.peek() == ",":
            self.take()
            threads.append(self.thread())
        self.expect("]")
        stream = 0
        after: list[str] = []
        if self.peek() == "stream":
            self.take()
            stream = self.number("the stream's number")
        if self.peek() == "after":
            self.take()
            after.append(self.name("a kernel's name")[0])
            while self.peek() == ",":
                self.take()
                after.append(self.name("a kernel's name")[0])
        self.found.kernels.append(LaunchedKernel(name, tuple(threads), stream, tuple(after)))
        self.found.kernel_spans.append(self.source.span(start, end))


def settle(source: LitmusSource, found: Declarations) -> None:
    """Check the names that declarations mention, and give aliases the type of what they alias."""
    locations = found.locations
    declared = list(locations)
    for name, span in (*found.addresses, *found.named):
        if name in locations:
            continue
        near = source.suggest(name, declared)
        if near is None and (name, span) not in found.named:
            locations[name] = Location(name, span=span)
            found.implied[name] = False
        else:
            hint = near or "declare it in the init block"
            source.note_at(span, f"location '{name}' is not declared", hint)
    if source.findings or not found.named:
        return
    roots: dict[str, Location] = {}
    for name, location in list(locations.items()):
        chain: dict[str, Location] = {}
        at = location
        while at.alias_of is not None and at.name not in roots:
            if at.name in chain:
                source.note_at(location.span, f"'{name}' aliases itself")
                return
            chain[at.name] = at
            at = locations[at.alias_of]
        root = roots.get(at.name, at)
        for alias, old in chain.items():
            roots[alias] = root
            locations[alias] = Location(
                alias, root.type, root.space, root.elements, root.initial, None, old.alias_of, old.proxy, old.span
            )
