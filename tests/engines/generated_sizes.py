"""Small tests whose accesses have many sizes, generated: unions, vectors, and atomic operations that overlap in part."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

#: Numbers that differ from each other in one byte or in several.
_NUMBERS = (0, 1, 2, 0x101, 0x0201, 0x01020304, 0x10000, 0x1_0000_0001, 0x0506070801020304)
_SEMANTICS = ("weak", "relaxed.gpu", "relaxed.cta")
_REGISTERS = {8: "rs", 16: "rs", 32: "r", 64: "rd"}


@st.composite
def mixed_sizes(draw: st.DrawFn, accesses: int = 4) -> str:
    """Two or three threads that access the same eight bytes, so many times together, and what they find there."""
    threads = draw(st.sampled_from((2, 2, 3)))
    writers = [_Writer(draw, t) for t in range(threads)]
    for i in range(accesses):
        writers[i if i < threads else draw(st.integers(0, threads - 1))].access()
    observed = [register for w in writers for register in w.observed]
    observed += draw(st.sampled_from(((), ("x",), ("x",), ("x", "x.u16[1]"))))
    initial = draw(st.sampled_from((0, 0, 0x0101010101010101)))
    blocks = [w.block() for w in writers]
    seen = f"locations [{' '.join(f'{o};' for o in observed)}]" if observed else ""
    return "\n".join(["PTX sizes", f"{{ .u64 x = {initial}; }}", *blocks, seen, "exists (true)", ""])


class _Writer:
    """Writes a thread, access by access."""

    def __init__(self, draw: st.DrawFn, number: int) -> None:
        self.draw, self.number = draw, number
        self.lines: list[str] = []
        self.observed: list[str] = []
        self.registers = 0
        self.accesses = SizedAccesses(draw, self.register)

    def block(self) -> str:
        cta = self.draw(st.sampled_from((0, self.number, self.number)))
        return f"P{self.number}@cta {cta},gpu 0 {{ {' '.join(self.lines)} }}"

    def access(self) -> None:
        self.lines.append(self.accesses.access())

    def register(self, bank: str, observed: bool = True) -> str:
        name = f"%{bank}{self.registers}"
        self.registers += 1
        if observed:
            self.observed.append(f"{self.number}:{name}")
        return name


class SizedAccesses:
    """Writes accesses to eight bytes of x, each of some size. `register` gives a new register of a bank, which is to be
    observed or not."""

    def __init__(self, draw: st.DrawFn, register: Callable[..., str], base: int = 0) -> None:
        self.draw, self.register, self.base = draw, register, base

    def access(self) -> str:
        draw = self.draw
        bits = draw(st.sampled_from((8, 16, 32, 64)))
        kinds = ["store", "load", "load"]
        kinds += ["vector_load", "vector_store"] if bits < 64 else []
        kinds += ["atomic", "reduction"] if bits > 16 else []
        kind = draw(st.sampled_from(kinds))
        size = bits // 8 * (2 if kind.startswith("vector") else 1)
        offset = draw(st.integers(0, 8 // size - 1)) * size
        return str(getattr(self, kind)(bits, f"[x+{self.base + offset}]", draw(st.sampled_from(_SEMANTICS))))

    def number_of(self, bits: int) -> int:
        return self.draw(st.sampled_from(_NUMBERS)) % (1 << bits)

    def store(self, bits: int, address: str, semantics: str) -> str:
        return f"st.{semantics}.u{bits} {address}, {self.number_of(bits)};"

    def load(self, bits: int, address: str, semantics: str) -> str:
        return f"ld.{semantics}.u{bits} {self.register(_REGISTERS[bits])}, {address};"

    def vector_load(self, bits: int, address: str, semantics: str) -> str:
        names = [self.register(_REGISTERS[bits]) for _ in range(2)]
        return f"ld.{semantics}.v2.u{bits} {{{', '.join(names)}}}, {address};"

    def vector_store(self, bits: int, address: str, semantics: str) -> str:
        names = [self.register(_REGISTERS[bits], observed=False) for _ in range(2)]
        made = [f"mov.u{max(bits, 16)} {name}, {self.number_of(bits)};" for name in names]
        return f"{' '.join(made)} st.{semantics}.v2.u{bits} {address}, {{{', '.join(names)}}};"

    def atomic(self, bits: int, address: str, semantics: str) -> str:
        scope = "cta" if semantics.endswith("cta") else "gpu"
        how = self.draw(st.sampled_from((f"add.u{bits}", f"exch.b{bits}")))
        return f"atom.relaxed.{scope}.{how} {self.register(_REGISTERS[bits])}, {address}, {self.number_of(bits) or 1};"

    def reduction(self, bits: int, address: str, semantics: str) -> str:
        scope = "cta" if semantics.endswith("cta") else "gpu"
        return f"red.relaxed.{scope}.add.u{bits} {address}, {self.number_of(bits) or 1};"
