"""Instructions on multimem addresses against NumPy, on random buffers: every operation, type and vector."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import driver
import numpy as np
import ptxas
import pytest

import ptxmm
from ptxcore.isa.multimem import ld_reduce
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import UsageError

#: Each has numbers of its own: 1,000 random inputs of every instruction, and some.
THREADS = 1024

INTEGERS = {
    **dict.fromkeys(("and", "or", "xor"), ("b32", "b64")),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64")),
    "add": ("u32", "s32", "u64"),
}
#: Of each format: how many elements a register has, and which vectors of them there are.
FLOATS = {
    "f16": (1, (2, 4, 8)), "bf16": (1, (2, 4, 8)), "f16x2": (2, (0, 2, 4)), "bf16x2": (2, (0, 2, 4)),
    "f32": (1, (0, 2, 4)), "f64": (1, (0,)),
    "e5m2": (1, (4, 8)), "e4m3": (1, (4, 8)), "e5m2x2": (2, (2, 4, 8)), "e4m3x2": (2, (2, 4, 8)),
    "e5m2x4": (4, (0, 2, 4)), "e4m3x4": (4, (0, 2, 4)),
}  # fmt: skip
WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "e5m2": 8, "e4m3": 8}


class Case(NamedTuple):
    """An instruction: `parts` numbers of `bits` bits in all, `registers` operands of `width` bits."""

    name: str
    op: str
    kind: str
    registers: int
    width: int
    bits: int

    @property
    def parts(self) -> int:
        return self.registers * self.width // self.bits


def _cases() -> list[Case]:
    found = []
    for op, types in INTEGERS.items():
        for kind in types:
            bits = int(kind[1:])
            found += [Case(f"{what}.{op}.{kind}", op, kind, 1, bits, bits) for what in ("ld_reduce", "red.relaxed.sys")]
    found += [Case(f"st.{kind}", "st", kind, 1, int(kind[1:]), int(kind[1:])) for kind in ("u32", "b64", "s64")]
    for kind, (packed, vectors) in FLOATS.items():
        form = kind.partition("x")[0]
        width, small = packed * WIDTHS[form], WIDTHS[form] == 8
        for vector in vectors:
            vec = f".v{vector}" if vector else ""
            shape = (form, max(1, vector), width, WIDTHS[form])
            accs = ["", ".acc::f16"] if small else ["", ".acc::f32"] if form in ("f16", "bf16") else [""]
            found += [Case(f"ld_reduce.add{acc}{vec}.{kind}", f"add{acc}", *shape) for acc in accs]
            if width > 8 and form not in ("f32", "f64"):
                found += [Case(f"ld_reduce.{op}{vec}.{kind}", op, *shape) for op in ("min", "max")]
            found.append(Case(f"st{vec}.{kind}", "st", *shape))
            if not small:
                found.append(Case(f"red.relaxed.sys.add{vec}.{kind}", "add", *shape))
    return found


CASES = _cases()


def _module(cases: list[Case]) -> str:
    kernels = []
    for number, case in enumerate(cases):
        size = case.registers * case.width // 8
        registers = ", ".join(f"%v{i}" for i in range(case.registers))
        operand = f"{{{registers}}}" if f".v{case.registers}" in case.name else registers
        declared = f".reg .b{case.width} %v<{case.registers}>;"

        def moves(what: str, at: str, case: Case = case) -> str:
            step = case.width // 8
            places = [(f"%v{i}", f"[{at}+{i * step}]") for i in range(case.registers)]
            kind = f"{what}.global.b{case.width}"
            return "\n ".join(f"{kind} {r}, {a};" if what == "ld" else f"{kind} {a}, {r};" for r, a in places)

        if case.name.startswith("ld_reduce"):
            body = f"multimem.{case.name} {operand}, [%m];\n {moves('st', '%o')}"
        else:
            body = f"{moves('ld', '%o')}\n multimem.{case.name} [%m], {operand};"
        kernels.append(f""".visible .entry k{number}(.param .u64 m, .param .u64 o) {{
 {declared} .reg .b64 %m, %o, %t; .reg .b32 %i;
 ld.param.u64 %m, [m]; ld.param.u64 %o, [o];
 mov.u32 %i, %tid.x; mul.wide.u32 %t, %i, {size}; add.s64 %m, %m, %t; add.s64 %o, %o, %t;
 {body}
 ret;
}}""")
    return ".version 9.0\n.target sm_100a\n.address_size 64\n" + "\n".join(kernels) + "\n"


# The reference: numbers as Python has them, rounded to a format by looking for the nearest.


def _float(form: str, bits: np.ndarray) -> np.ndarray:
    """The numbers that bits are, exactly."""
    if form in ("f16", "f32", "f64"):
        return bits.view(f"f{WIDTHS[form] // 8}").astype(np.float64)
    if form == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return _table(form)[bits]


@lru_cache
def _table(form: str) -> np.ndarray:
    exponent, fraction, bias = (5, 2, 15) if form == "e5m2" else (4, 3, 7)
    found = []
    for bits in range(256):
        field, rest = bits >> fraction & ((1 << exponent) - 1), bits & ((1 << fraction) - 1)
        value = rest * 2.0 ** (1 - bias - fraction) if field == 0 else (1 + rest / 2**fraction) * 2.0 ** (field - bias)
        if form == "e5m2" and field == 31:
            value = float("nan") if rest else float("inf")
        if form == "e4m3" and bits & 0x7F == 0x7F:
            value = float("nan")
        found.append(-value if bits & 0x80 else value)
    return np.array(found)


def _rounded(form: str, x: np.ndarray) -> np.ndarray:
    """The bits of the numbers nearest to some, of two equally near the even one."""
    if form in ("f16", "f32", "f64"):
        return x.astype(f"f{WIDTHS[form] // 8}").view(f"u{WIDTHS[form] // 8}")
    if form == "bf16":  # sums of two numbers of 8 bits, near enough to each other to be exact here
        whole = x.astype(np.float32).view(np.uint32)
        return ((whole + 0x7FFF + (whole >> 16 & 1)) >> 16).astype(np.uint16)
    table = _table(form)
    usable = np.array([b for b in range(256) if np.isfinite(table[b])], dtype=np.uint8)
    distance = np.abs(table[usable][None, :] - x[:, None])
    odd = (usable & 1)[None, :] + (np.signbit(table[usable])[None, :] != np.signbit(x)[:, None])
    return usable[np.lexsort((odd, distance), axis=1)[:, 0]]


def _combined(case: Case, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """What the operation makes of two columns of numbers, by their bits."""
    op = case.op.partition(".")[0]
    if case.kind in WIDTHS:
        x, y = _float(case.kind, one), _float(case.kind, other)
        if op != "add":
            first = x <= y if op == "min" else x >= y
            return np.where(first, one, other)
        inner = case.op.partition("::")[2]
        total = _float(inner, _rounded(inner, x + y)) if inner else x + y
        return _rounded(case.kind, total)
    kind = f"{'i' if case.kind[0] == 's' else 'u'}{case.bits // 8}"
    a, b = one.view(kind), other.view(kind)
    operations: dict[str, Callable[..., Any]] = {
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "add": np.add, "min": np.minimum,
        "max": np.maximum,
    }  # fmt: skip
    return operations[op](a, b).view(one.dtype)


def _numbers(case: Case, random: np.random.Generator, bits: int) -> np.ndarray:
    """Random numbers of a case, none of them infinite; small enough that sums are not."""
    count = THREADS * case.parts
    if case.kind not in WIDTHS:
        return random.integers(0, 1 << bits, count, dtype=f"u{bits // 8}", endpoint=False)
    sizes = random.choice((0.25, 1.0, 16.0, 100.0), count)
    values = random.standard_normal(count) * sizes
    values = np.where(values == 0, 1.0, values)
    return _rounded(case.kind, np.clip(values, -200, 200))


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("multimem") / "m.ptx"
    path.write_text(_module(CASES))
    return str(path)


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0")
def test_ptxas_takes_every_instruction(module: str) -> None:
    assert ptxas.check_module(Path(module).read_text()) == []


@pytest.mark.part(50)
@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_every_instruction_as_numpy(module: str, number: int) -> None:
    case = CASES[number]
    random = np.random.default_rng(number)
    a, b, given = (_numbers(case, random, case.bits) for _ in range(3))
    one, other, out = a.copy(), b.copy(), given.copy()
    ptxmm.run(module, f"k{number}", 1, THREADS, [ptxmm.Multimem(one, other), out])
    if case.name.startswith("ld_reduce"):
        wanted = a, b, _combined(case, a, b)
    elif case.name.startswith("st"):
        wanted = given, given, given
    else:
        wanted = _combined(case, a, given), _combined(case, b, given), given
    for found, right in zip((one, other, out), wanted, strict=True):
        if case.kind in WIDTHS:
            assert np.array_equal(_float(case.kind, found), _float(case.kind, right))
        else:
            assert np.array_equal(found, right)


_ONE = Case("ld_reduce.add.u32", "add", "u32", 1, 32, 32)


def test_any_number_of_devices(tmp_path: Any) -> None:
    path = tmp_path / "m.ptx"
    path.write_text(_module([_ONE]))
    random = np.random.default_rng(1)
    for count in (1, 3, 8):
        arrays = [random.integers(0, 1 << 32, THREADS, dtype=np.uint32) for _ in range(count)]
        out = np.zeros(THREADS, np.uint32)
        ptxmm.run(str(path), "k0", 1, THREADS, [ptxmm.Multimem(*arrays), out])
        assert np.array_equal(out, sum(arrays[1:], arrays[0]))


def test_what_is_no_multimem_address_is_told(tmp_path: Any) -> None:
    path = tmp_path / "m.ptx"
    path.write_text(_module([_ONE]))
    one, out = np.zeros(THREADS, np.uint32), np.zeros(THREADS, np.uint32)
    for threads in (1, THREADS):
        with pytest.raises(KernelError, match="is no multimem address") as caught:
            ptxmm.run(str(path), "k0", 1, threads, [one, out])
        assert caught.value.kind == "bad-multimem"
        with pytest.raises(KernelError, match="multimem instructions alone may access") as caught:
            ptxmm.run(str(path), "k0", 1, threads, [ptxmm.Multimem(one), ptxmm.Multimem(out)])
        assert caught.value.kind == "bad-multimem"
    with pytest.raises(KernelError, match="out of bounds"):
        ptxmm.run(str(path), "k0", 1, THREADS, [ptxmm.Multimem(one[:-1]), out])


def test_what_is_behind_no_multimem_address() -> None:
    array = np.zeros(8, np.uint32)
    for wrong in ((), (array, array), (array[:4], array[2:6]), (array[:4], array[4:6]), (array[::2],), (1,)):
        with pytest.raises(UsageError, match="multimem address"):
            ptxmm.Multimem(*wrong)


class _Asked:
    """Keeps whether the value of a sum is the only one that it may have."""

    def __init__(self, columns: list[int]) -> None:
        self.columns, self.exact = columns, -1

    def replicas(self, how: Any, address: int) -> range:
        return range(len(self.columns))

    def load(self, how: Any, address: int) -> int:
        return self.columns[address]

    def approximated(self, how: Any, value: int, exact: int, width: int) -> int:
        self.exact = exact
        return value


def test_which_sums_depend_on_the_order_of_additions() -> None:
    """Against every way to put brackets, and every order."""

    def sums(numbers: tuple[np.float32, ...]) -> set[np.float32]:
        if len(numbers) == 1:
            return set(numbers)
        found = set()
        for size in range(1, len(numbers)):
            for chosen in combinations(range(len(numbers)), size):
                left = tuple(numbers[i] for i in chosen)
                right = tuple(numbers[i] for i in range(len(numbers)) if i not in chosen)
                found |= {x + y for x in sums(left) for y in sums(right)}
        return found

    (use,) = driver.candidates("multimem", ("ld_reduce", "add", "f32"))
    random = Random(1)
    counted = [0, 0]
    for count in (1, 2, 3, 4):
        for _ in range(60):
            numbers = [np.float32(random.choice((1, -1, 3, 2**24, -(2**24), 2**23, 0.5))) for _ in range(count)]
            thread = _Asked([int(x.view(np.uint32)) for x in numbers])
            ld_reduce(use, thread, 0)
            wanted = len({float(x) for x in sums(tuple(numbers))}) == 1
            assert thread.exact == wanted, numbers
            counted[wanted] += 1
    assert min(counted) > 20
    thread = _Asked([0] * 5)
    ld_reduce(use, thread, 0)
    assert thread.exact == 0
