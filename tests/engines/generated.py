"""Small litmus tests, generated: what the engines are compared on.

Each strategy gives the text of a test, in the format that people write, so that a failing example can be run as it is. Tests
are small enough for brute force: a few threads, a few instructions each, and at most a few writes to one location.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

SCOPES = ("cta", "cluster", "gpu", "gpu", "sys")
#: For each type of a location: the table register that takes it, and the bits that atomics name it by.
REGISTER_OF = {"u8": "rs", "u16": "rs", "u32": "r", "s32": "r", "b32": "r", "u64": "rd", "s64": "rd"}
SIZES = {"u8": 8, "u16": 16, "u32": 32, "s32": 32, "b32": 32, "u64": 64, "s64": 64}
WORD_OF = {"r": "u32", "rd": "u64", "rs": "u16"}

#: Where threads stand, by what they have in common.
PLACEMENTS = (
    ("cta 0", "cta 0", "cta 0"),
    ("cta 0", "cta 1", "cta 1"),
    ("cta 0,cluster 0", "cta 1,cluster 0", "cta 2,cluster 1"),
    ("cta 0", "cta 0", "cta 1"),
    ("cta 0,gpu 0", "cta 1,gpu 1", "cta 2,gpu 0"),
    ("cta 0,gpu 0", "cta 0,gpu 0", "cta 1,gpu 1"),
    ("warp 0,cta 0", "warp 0,cta 0", "warp 1,cta 0"),
    ("warp 0,cta 0", "warp 0,cta 0", "warp 0,cta 0"),
)


@dataclass
class Location:
    """A declared location. `names` are the names it goes by: its own and those of its aliases."""

    name: str
    type: str
    names: list[str]
    elements: int | None = None
    shared: bool = False
    initial: int = 0
    writes: int = 0


@dataclass
class World:
    """What the threads of a test have in common."""

    locations: list[Location]
    places: tuple[str, ...]
    pointer: bool = False
    barrier: str = ""
    reduction: str = ""  # what threads reduce by; "" where each has its own
    init: list[str] = field(default_factory=list)

    @property
    def aliased(self) -> bool:
        return any(len(l.names) > 1 for l in self.locations)


class Writer:
    """Writes one typed thread, instruction by instruction."""

    def __init__(self, draw: st.DrawFn, world: World, thread: int) -> None:
        self.draw, self.world, self.thread = draw, world, thread
        self.prelude: list[str] = []
        self.lines: list[str] = []
        self.registers: dict[str, list[str]] = {"r": [], "rd": [], "rs": []}
        self.made = 0
        self.depth = 0
        self.looping = 1

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) < percent

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def fresh(self, bank: str, keep: bool = True) -> str:
        """A new register. Inside a branch it gets a value at the start, since typed registers must have one."""
        self.made += 1
        register = f"%{bank}{self.made}"
        if bank != "p":
            if self.depth:
                self.prelude.append(f"mov.{WORD_OF[bank]} {register}, 0;")
            if keep:
                self.registers[bank].append(register)
        return register

    def value(self, bank: str) -> str:
        known = self.registers[bank]
        if known and self.chance(35):
            return self.pick(*known)
        return self.pick("0", "1", "1", "2", "3")

    def location(self, for_write: bool = False) -> Location:
        allowed = [l for l in self.world.locations if not for_write or l.writes + self.looping <= 3]
        return self.draw(st.sampled_from(allowed or self.world.locations))

    def address(self, l: Location, dependency: bool = True) -> str:
        name = self.pick(*l.names)
        offset = 0
        if l.elements is not None:
            offset = SIZES[l.type] // 8 * self.draw(st.integers(0, l.elements - 1))
        if dependency and self.chance(12):
            return self._computed_address(name, offset)
        return f"[{name}+{offset}]" if offset else f"[{name}]"

    def _computed_address(self, name: str, offset: int) -> str:
        """The address in a register, perhaps by a dependency that changes nothing."""
        base = self.fresh("rd", keep=False)
        self.emit(f"mov.u64 {base}, {name};")
        if self.registers["r"] and self.chance(70):
            zero, wide = self.fresh("r", keep=False), self.fresh("rd", keep=False)
            source = self.pick(*self.registers["r"])
            self.emit(self.pick(f"xor.b32 {zero}, {source}, {source};", f"and.b32 {zero}, {source}, 0;"))
            self.emit(f"cvt.u64.u32 {wide}, {zero};")
            self.emit(f"add.u64 {base}, {base}, {wide};")
        return f"[{base}+{offset}]" if offset else f"[{base}]"

    # One instruction, or a few that belong together. Each returns nothing; `self.lines` grows.

    def load(self, guard: str = "") -> None:
        l = self.location()
        bank = REGISTER_OF[l.type]
        sem = self.pick("weak", "", "volatile", "relaxed", "acquire", "acquire")
        scope = f".{self.pick(*SCOPES)}" if sem in ("relaxed", "acquire") else ""
        address = self.address(l)
        d = self.fresh(bank)
        if guard:
            self.prelude.append(f"mov.{WORD_OF[bank]} {d}, 7;")
        self.emit(f"{guard}ld{dot(sem)}{scope}{'.shared' if l.shared else ''}.{l.type} {d}, {address};")

    def store(self, guard: str = "") -> None:
        l = self.location(for_write=True)
        l.writes += self.looping
        sem = self.pick("weak", "", "volatile", "relaxed", "release", "release")
        scope = f".{self.pick(*SCOPES)}" if sem in ("relaxed", "release") else ""
        value = self.value(REGISTER_OF[l.type])
        self.emit(f"{guard}st{dot(sem)}{scope}{'.shared' if l.shared else ''}.{l.type} {self.address(l)}, {value};")

    def _atomic_location(self) -> Location | None:
        able = [l for l in self.world.locations if SIZES[l.type] >= 32 and l.writes + self.looping <= 3]
        return self.draw(st.sampled_from(able)) if able else None

    def atom(self, guard: str = "") -> None:
        l = self._atomic_location()
        if l is None:
            return self.load(guard)
        l.writes += self.looping
        bank, bits = REGISTER_OF[l.type], SIZES[l.type]
        op = self.pick(
            "add", "exch", "cas", "cas", "min", "max", "and", "or", "xor", *(["inc", "dec"] if bits == 32 else [])
        )
        sem = self.pick("", "relaxed", "acquire", "release", "acq_rel")
        scope = self.pick("", *SCOPES)
        space = ".shared" if l.shared else ""
        operand = self.value(bank)
        address = self.address(l)
        if op == "cas":
            operand = f"{self.value(bank)}, {operand}"
        if self.chance(20) and op != "cas":
            d = "_"
        else:
            d = self.fresh(bank)
            if guard:
                self.prelude.append(f"mov.{WORD_OF[bank]} {d}, 7;")
        self.emit(
            f"{guard}atom{dot(sem)}{dot(scope)}{space}.{op}.{operation_type(op, l.type)} {d}, {address}, {operand};"
        )

    def red(self, guard: str = "") -> None:
        l = self._atomic_location()
        if l is None:
            return self.load(guard)
        l.writes += self.looping
        op = self.pick("add", "add", "max", "and", "or", *(["inc"] if SIZES[l.type] == 32 else []))
        sem, scope = self.pick("", "relaxed", "release"), self.pick("", *SCOPES)
        space = ".shared" if l.shared else ""
        operand = self.value(REGISTER_OF[l.type])
        self.emit(
            f"{guard}red{dot(sem)}{dot(scope)}{space}.{op}.{operation_type(op, l.type)} {self.address(l)}, {operand};"
        )

    def fence(self) -> None:
        if self.world.aliased and self.chance(50):
            self.emit("fence.proxy.alias;")
        elif self.chance(12):
            self.emit(f"membar.{self.pick('cta', 'gl', 'sys')};")
        else:
            self.emit(f"fence{dot(self.pick('', 'sc', 'sc', 'acq_rel', 'acquire', 'release'))}.{self.pick(*SCOPES)};")

    def arithmetic(self) -> None:
        known = self.registers["r"]
        if not known:
            d = self.fresh("r")
            return self.emit(f"mov.u32 {d}, {self.pick('0', '1', '4294967295')};")
        a, b = self.pick(*known), self.value("r")
        d = self.fresh("r")
        op = self.pick(
            "add.u32", "sub.u32", "xor.b32", "and.b32", "or.b32", "min.s32", "max.u32", "mul.lo.u32", "shl.b32"
        )
        self.emit(f"{op} {d}, {a}, {b};")

    def predicate(self) -> str:
        """A new predicate, set by comparing a register if there is one."""
        p = self.fresh("p")
        known = self.registers["r"]
        if not known:
            wide = [(b, r) for b in ("rd", "rs") for r in self.registers[b]]
            if wide:
                bank, register = self.draw(st.sampled_from(wide))
                self.emit(f"setp.{self.pick('eq', 'ne')}.{WORD_OF[bank]} {p}, {register}, {self.pick('0', '1')};")
                return p
            self.emit("mov.u32 %r0, 1;")
            known = ["%r0"]
        comparison = self.pick("eq.u32", "ne.u32", "lt.s32", "ge.s32", "gt.u32")
        self.emit(f"setp.{comparison} {p}, {self.pick(*known)}, {self.value('r')};")
        return p

    def predicated(self) -> None:
        guard = f"@{self.pick('', '!')}{self.predicate()} "
        self.draw(st.sampled_from((self.load, self.store, self.store, self.atom, self.red)))(guard)

    def select(self) -> None:
        p = self.predicate()
        a, b = self.value("r"), self.value("r")
        d = self.fresh("r")
        self.emit(f"selp.b32 {d}, {a}, {b}, {p};")

    def branch(self) -> None:
        """Forward over one or two instructions, perhaps with an alternative."""
        p = self.predicate()
        self.made += 1
        label, end = f"L{self.made}", f"E{self.made}"
        self.emit(f"@{self.pick('', '!')}{p} bra {label};")
        self.depth += 1
        self.simple()
        if self.chance(40):
            self.emit(f"bra {end};")
            self.emit(f"{label}:")
            self.simple()
            self.emit(f"{end}:")
        else:
            self.emit(f"{label}:")
        self.depth -= 1

    def spin(self) -> None:
        """Waits until a location has, or no longer has, a value; perhaps by atomics that keep writing."""
        self.made += 1
        label = f"W{self.made}"
        how = self.pick("load", "load", "load", "cas", "exch")
        self.emit(f"{label}:")
        before = len(self.registers["r"])
        self.depth += 1
        if how == "load":
            self.load()
        else:
            self.looping *= 2
            l = self._atomic_location()
            if l is None or SIZES[l.type] != 32:
                self.load()
            else:
                l.writes += 1
                d = self.fresh("r")
                operands = "0, 1" if how == "cas" else "1"
                self.emit(f"atom.acquire.gpu.{how}.b32 {d}, {self.address(l, dependency=False)}, {operands};")
            self.looping //= 2
        self.depth -= 1
        new = self.registers["r"][before:]
        if new:
            p = self.fresh("p")
            self.emit(f"setp.{self.pick('eq', 'ne')}.u32 {p}, {new[-1]}, {self.pick('0', '0', '1')};")
            self.emit(f"@{p} bra {label};")

    def counted(self) -> None:
        """A loop of two iterations."""
        self.made += 1
        label, i, p = f"C{self.made}", self.fresh("r", keep=False), self.fresh("p")
        if self.depth:
            self.emit(f"mov.u32 {i}, 0;")
        else:
            self.prelude.append(f"mov.u32 {i}, 0;")
        self.emit(f"{label}:")
        self.depth += 1
        self.looping *= 2
        self.draw(st.sampled_from((self.load, self.store, self.red, self.atom)))()
        self.looping //= 2
        self.depth -= 1
        self.emit(f"add.u32 {i}, {i}, 1;")
        self.emit(f"setp.lt.u32 {p}, {i}, {self.pick('2', '2', '9')};")
        self.emit(f"@{p} bra {label};")

    def through_pointer(self) -> None:
        """Loads a pointer from memory and uses it, or stores another one there."""
        if self.chance(35):
            target = self.draw(
                st.sampled_from([l for l in self.world.locations if l.type == "u32" and l.elements is None])
            )
            address = self.fresh("rd", keep=False)
            self.emit(f"mov.u64 {address}, {target.name};")
            self.emit(f"st.{self.pick('weak', 'relaxed.gpu', 'release.gpu')}.u64 [p], {address};")
            return
        address, d = self.fresh("rd", keep=False), self.fresh("r")
        self.emit(f"ld.{self.pick('weak', 'relaxed.gpu', 'acquire.gpu')}.u64 {address}, [p];")
        if self.chance(70):
            self.emit(f"ld.weak.u32 {d}, [{address}];")
        else:
            self.emit(f"mov.u32 {d}, 1;")
            self.emit(f"st.relaxed.gpu.u32 [{address}], {d};")

    def barrier(self) -> None:
        style = self.world.barrier
        if style == "mixed":
            style = self.pick("all", "count", "pair", "red", "register")
        if style == "all":
            self.emit(f"{self.pick('bar', 'barrier')}.sync {self.pick('0', '0', '0', '1')};")
        elif style == "count":
            self.emit(f"bar.sync 1, {self.pick('64', '64', '64', '32', '96')};")
        elif style == "pair":
            first = self.thread == 0
            self.emit(f"bar.{'arrive' if first != self.chance(10) else 'sync'} 1, 64;")
        elif style == "register":
            known = self.registers["r"]
            if known and self.chance(60):
                id_ = self.fresh("r", keep=False)
                self.emit(f"and.b32 {id_}, {self.pick(*known)}, 1;")
            else:
                id_ = self.fresh("r", keep=False)
                self.emit(f"mov.u32 {id_}, 0;")
            self.emit(f"bar.sync {id_}{self.pick('', ', 64')};")
        else:
            p = self.predicate()
            count = self.pick("", "", ", 64")
            operation = self.world.reduction or self.pick("popc", "popc", "and", "or")
            if operation == "popc":
                d = self.fresh("r")
                self.emit(f"bar.red.popc.u32 {d}, 0{count}, {self.pick('', '!')}{p};")
            else:
                q, d = self.fresh("p"), self.fresh("r")
                self.emit(f"bar.red.{operation}.pred {q}, 0{count}, {self.pick('', '!')}{p};")
                self.emit(f"selp.b32 {d}, 1, 0, {q};")

    def simple(self) -> None:
        self.draw(st.sampled_from((self.load, self.load, self.store, self.store, self.atom, self.red, self.fence)))()

    def step(self) -> None:
        steps = [self.load] * 6 + [self.store] * 6 + [self.atom] * 4 + [self.red] * 2 + [self.fence] * 5
        steps += [self.arithmetic] * 2 + [self.predicated] * 2 + [self.branch] * 2
        steps += [self.select, self.spin, self.counted]
        if self.world.pointer:
            steps += [self.through_pointer] * 8
        self.draw(st.sampled_from(steps))()

    def text(self) -> str:
        return "\n    ".join([*dict.fromkeys(self.prelude), *self.lines])


def dot(word: str) -> str:
    return f".{word}" if word else ""


def operation_type(op: str, location: str) -> str:
    """The type with which an operation takes a location."""
    bits = SIZES[location]
    if op in ("exch", "cas", "and", "or", "xor"):
        return f"b{bits}"
    if op in ("inc", "dec"):
        return "u32"
    if op == "add":
        return "s32" if location == "s32" else f"u{bits}"
    return location.replace("b", "u")


@st.composite
def typed_tests(draw: st.DrawFn) -> str:
    """A test in typed PTX, threads as blocks."""
    count = draw(st.sampled_from((2, 2, 2, 3)))
    world = draw(worlds(count))
    writers = [Writer(draw, world, t) for t in range(count)]
    points = draw(st.integers(1, 2)) if world.barrier else 0
    for w in writers:
        steps = draw(st.integers(1, 4 if count == 2 else 2))
        mine = points if draw(st.integers(0, 9)) else draw(st.integers(0, 2))
        kinds = draw(st.permutations([w.step] * steps + [w.barrier] * mine)) if mine else [w.step] * steps
        for step in kinds:
            step()
    return written(draw, world, [w.text() for w in writers], [w.registers for w in writers])


@st.composite
def worlds(draw: st.DrawFn, threads: int) -> World:
    places = draw(st.sampled_from(PLACEMENTS))[:threads]
    special = draw(st.sampled_from(("", "", "", "types", "array", "shared", "alias", "pointer")))
    barrier = draw(st.sampled_from(("",) * 9 + ("all", "all", "count", "pair", "red", "register", "mixed")))
    if barrier and draw(st.integers(0, 3)):
        places = draw(st.sampled_from((PLACEMENTS[0], PLACEMENTS[0], PLACEMENTS[6])))[:threads]
    locations = []
    for name in ("x", "y", "z")[: draw(st.integers(1 if not special else 2, 2 if threads == 2 else 3))]:
        type_ = "u32"
        if special == "types":
            type_ = draw(st.sampled_from(tuple(REGISTER_OF)))
        l = Location(name, type_, [name], initial=draw(st.sampled_from((0, 0, 0, 1))))
        if special == "array" and name == "x":
            l.elements = 2
        if special == "shared":
            l.shared = draw(st.booleans())
        locations.append(l)
    world = World(locations, places, special == "pointer", barrier)
    if barrier in ("red", "mixed"):  # threads that reduce in different ways have no meaning
        world.reduction = draw(st.sampled_from(("popc", "popc", "and", "or", "popc", "popc", "and", "or", "")))
    for l in locations:
        size = f"[{l.elements}]" if l.elements else ""
        world.init.append(f"{'.shared' if l.shared else '.global'} .{l.type} {l.name}{size} = {initial(l)};")
    if special == "alias":
        locations[0].names.append("xa")
        world.init.append("xa @ generic aliases x;")
    if special == "pointer":
        world.init.append(".global .u64 p;  p = &x;")
    return world


def initial(l: Location) -> str:
    return "{" + ", ".join([str(l.initial)] * l.elements) + "}" if l.elements else str(l.initial)


def written(draw: st.DrawFn, world: World, bodies: list[str], registers: list[dict[str, list[str]]]) -> str:
    """The whole test, with a condition on something that it computes."""
    init = "\n  ".join(line.replace(".global .u64 p;  p = &x;", "p = &x;") for line in world.init)
    blocks = "\n".join(
        f"P{t}@{place} {{\n    {body}\n}}" for t, (place, body) in enumerate(zip(world.places, bodies, strict=True))
    )
    named: list[str] = []
    for l in world.locations:
        if not l.shared or len({place_cta(p) for p in world.places}) == 1:
            named += [f"{l.name}[{i}]" for i in range(l.elements)] if l.elements else [l.name]
    seen = [f"{t}:{r}" for t, banks in enumerate(registers) for bank in banks.values() for r in bank]
    terms = (
        draw(st.lists(st.sampled_from([*seen, *named]), min_size=1, max_size=3, unique=True)) if seen or named else []
    )
    atoms = [f"{t} {draw(st.sampled_from(('==', '==', '!=', '<')))} {draw(st.integers(0, 2))}" for t in terms]
    condition = draw(st.sampled_from((" /\\ ", " \\/ "))).join(atoms) or "true"
    quantifier = draw(st.sampled_from(("exists", "~exists", "forall")))
    listed = f"locations [{' '.join(n + ';' for n in named)}]\n" if named else ""
    filtered = f"filter ({atoms[0]})\n" if atoms and draw(st.integers(0, 14)) == 0 else ""
    return f"PTX generated\n{{\n  {init}\n}}\n{blocks}\n{listed}{filtered}{quantifier} ({condition})\n"


def place_cta(place: str) -> str:
    return next(part for part in place.split(",") if part.startswith("cta"))


# The short dialect.

SHORT_SCOPES = ("cta", "gpu", "gpu", "sys")
PROXIES = {"generic": ("ld", "st"), "surface": ("suld", "sust"), "texture": ("tld", ""), "constant": ("cold", "")}


class ShortWriter:
    """Writes one thread in the short dialect."""

    def __init__(self, draw: st.DrawFn, names: dict[str, str], barriers: bool) -> None:
        self.draw, self.names, self.barriers = draw, names, barriers
        self.lines: list[str] = []
        self.made = 0
        self.writes = 0

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def value(self) -> str:
        if self.made and self.draw(st.integers(0, 3)) == 0:
            return f"r{self.draw(st.integers(0, self.made - 1))}"
        return self.pick("0", "1", "2")

    def fresh(self) -> str:
        self.made += 1
        return f"r{self.made - 1}"

    def access(self) -> None:
        name = self.pick(*self.names)
        load, store = PROXIES[self.names[name]]
        if store and self.writes < 2 and self.draw(st.booleans()):
            self.writes += 1
            sem = self.pick("weak", "relaxed", "release")
            scope = "" if sem == "weak" else f".{self.pick(*SHORT_SCOPES)}"
            self.lines.append(f"{store}.{sem}{scope} {name}, {self.value()}")
        else:
            sem = self.pick("weak", "relaxed", "acquire")
            scope = "" if sem == "weak" else f".{self.pick(*SHORT_SCOPES)}"
            self.lines.append(f"{load}.{sem}{scope} {self.fresh()}, {name}")

    def atom(self) -> None:
        generic = [n for n, proxy in self.names.items() if proxy == "generic"]
        name, op = self.pick(*generic), self.pick("add", "sub", "and", "or", "xor", "exch", "cas", "cas")
        sem, scope = self.pick("relaxed", "acquire", "release", "acq_rel"), self.pick(*SHORT_SCOPES)
        if self.writes >= 2:
            return self.access()
        self.writes += 1
        if op != "exch" and op != "cas" and self.draw(st.booleans()):
            return self.lines.append(f"red.{sem}.{scope}.{op} {name}, {self.value()}")
        operands = f"{self.value()}, {self.value()}" if op == "cas" else self.value()
        self.lines.append(f"atom.{sem}.{scope}.{op} {self.fresh()}, {name}, {operands}")

    def fence(self) -> None:
        proxies = len(self.names) > 2
        if proxies and self.draw(st.booleans()):
            kind = self.pick("alias", "generic", "constant", "texture", "surface")
            return self.lines.append(f"fence.proxy.{kind}")
        self.lines.append(f"fence.{self.pick('sc', 'sc', 'acq_rel')}.{self.pick(*SHORT_SCOPES)}")

    def barrier(self) -> None:
        operands = [self.pick("0", "0", "1")]
        if self.draw(st.booleans()):
            operands.append(self.pick("0", "0", "0", "1", *([f"r{self.made - 1}"] if self.made else [])))
            if self.draw(st.booleans()):
                operands.append(self.pick("2", "2", "1", "3"))
        self.lines.append(f"bar.cta.{self.pick('sync', 'sync', 'sync', 'arrive')} {', '.join(operands)}")

    def branch(self) -> None:
        if not self.made:
            return self.access()
        self.made += 1
        label = f"LC{self.made:02}"
        condition = self.pick("beq", "bne", "blt", "bge")
        self.lines.append(f"{condition} r{self.draw(st.integers(0, self.made - 2))}, {self.value()}, {label}")
        self.draw(st.sampled_from((self.access, self.atom, *([self.barrier] if self.barriers else []))))()
        self.lines.append(f"{label}:")

    def spin(self) -> None:
        register = self.fresh()
        label = f"LC{self.made:02}"
        self.lines.append(f"{label}:")
        name = self.pick(*(n for n, proxy in self.names.items() if proxy == "generic"))
        self.lines.append(f"ld.{self.pick('relaxed', 'acquire')}.{self.pick(*SHORT_SCOPES)} {register}, {name}")
        self.lines.append(f"{self.pick('beq', 'bne')} {register}, {self.pick('0', '1')}, {label}")

    def arithmetic(self) -> None:
        a = self.value()
        self.lines.append(f"{self.pick('add', 'sub', 'mul')} {self.fresh()}, {a}, {self.pick('0', '1')}")

    def step(self) -> None:
        steps = (
            [self.access] * 8 + [self.atom] * 3 + [self.fence] * 4 + [self.branch] * 2 + [self.spin, self.arithmetic]
        )
        if self.barriers:
            steps += [self.barrier] * 8
        self.draw(st.sampled_from(steps))()


@st.composite
def short_tests(draw: st.DrawFn) -> str:
    """A test in the short dialect, threads as columns."""
    count = draw(st.sampled_from((2, 2, 2, 3)))
    names = {"x": "generic", "y": "generic"}
    init = ["x=0;", "y=0;"]
    if draw(st.integers(0, 2)) == 0:
        for name in ("s", "t", "c", "g")[: draw(st.integers(1, 2))]:
            proxy = draw(st.sampled_from(tuple(PROXIES)))
            names[name] = proxy
            init.append(f"{name} @ {proxy} aliases {draw(st.sampled_from(('x', 'y')))};")
    barriers = draw(st.integers(0, 2)) == 0
    places = draw(st.sampled_from(PLACEMENTS[:6]))[:count]
    if barriers:
        places = PLACEMENTS[0][:count]
    writers = [ShortWriter(draw, names, barriers) for _ in range(count)]
    for w in writers:
        for _ in range(draw(st.integers(1, 4 if count == 2 else 3))):
            w.step()
    height = max(len(w.lines) for w in writers)
    rows = []
    for i in range(height):
        rows.append(" | ".join(w.lines[i] if i < len(w.lines) else "" for w in writers) + " ;")
    header = " | ".join(f"P{t}@{place}" for t, place in enumerate(places)) + " ;"
    terms = ["x", "y", *[f"{t}:r{r}" for t, w in enumerate(writers) for r in range(w.made)]]
    atoms = [
        f"{t} == {draw(st.integers(0, 2))}"
        for t in draw(st.lists(st.sampled_from(terms), min_size=1, max_size=3, unique=True))
    ]
    condition = " /\\ ".join(atoms)
    return (
        f"PTX generated\n{{ {' '.join(init)} }}\n {header}\n "
        + "\n ".join(rows)
        + f"\nlocations [x; y;]\n{draw(st.sampled_from(('exists', '~exists', 'forall')))} ({condition})\n"
    )


def generated_tests() -> st.SearchStrategy[str]:
    return st.one_of(typed_tests(), typed_tests(), short_tests())


__all__ = ["generated_tests", "short_tests", "typed_tests"]
