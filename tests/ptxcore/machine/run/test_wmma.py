"""`wmma`: matrices loaded, multiplied and stored are those of NumPy's indices (PTX ISA 9.0, section 9.7.14.4). Which thread has
which element is nobody's business; so each test goes from memory to memory."""

from __future__ import annotations

import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ptxas
import pytest
from campaigns import share
from matrices import Kernel
from rounded_once import FLOATS, element, numbers, summed, sums, whole_sums
from test_mma import drawn

import ptxmm
from ptxcore.isa import wmma
from ptxcore.isa.table import candidates
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load

needs_ptxas = pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
STORED = {"f16": "b32", "bf16": "b32", "tf32": "b32", "f32": "f32", "f64": "f64", "s32": "b32"}
CUBES = ("m16n16k16", "m8n32k16", "m32n8k16")


class Case(NamedTuple):
    shape: str
    multiplied: str
    c: str
    d: str
    layouts: str  # of A, B, C and D
    wide: int = 0  # more than the least stride, in units of the alignment
    space: str = "global"
    words: str = ""  # `satfinite`, a rounding modifier, an operation


CASES = [
    *(Case(s, "f16", c, d, l, w, p) for s, c, d, l, w, p in (
        ("m16n16k16", "f32", "f32", "rccr", 0, "global"), ("m16n16k16", "f16", "f16", "crrc", 1, "shared"),
        ("m8n32k16", "f16", "f32", "rrrr", 1, ""), ("m32n8k16", "f32", "f16", "cccc", 0, "global"),
    )),
    *(Case(s, k, "s32", "s32", l, w, p, x) for s, k, l, w, p, x in (
        ("m16n16k16", "s8", "rcrr", 0, "global", "satfinite"), ("m8n32k16", "u8", "crcr", 1, "shared", ""),
        ("m32n8k16", "s8", "rrcc", 2, "", ""), ("m8n8k32", "s4", "rcrr", 0, "global", "satfinite"),
        ("m8n8k32", "u4", "rccc", 1, "shared", ""),
    )),
    Case("m8n8k128", "b1", "s32", "s32", "rcrr", 0, "global", "xor"),
    Case("m8n8k128", "b1", "s32", "s32", "rccr", 1, "shared", "and"),
    *(Case(s, "bf16", "f32", "f32", l) for s, l in zip(CUBES, ("rcrr", "crcr", "rrrc"), strict=True)),
    Case("m16n16k8", "tf32", "f32", "f32", "rcrr"), Case("m16n16k8", "tf32", "f32", "f32", "crcc", 1, "shared"),
    Case("m8n8k4", "f64", "f64", "f64", "rcrr"), Case("m8n8k4", "f64", "f64", "f64", "crcc", 1, "shared", "rz"),
]  # fmt: skip


#: Halves whose sums are finite, as PTX 6.3 and 6.4 have them.
SATURATED = [case._replace(words="satfinite") for case in CASES if case.multiplied == "f16"]


def sizes(case: Case) -> dict[str, tuple[int, int]]:
    m, n, k = (int(x) for x in case.shape.replace("m", "").replace("n", " ").replace("k", " ").split())
    return {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}


def kind_of(case: Case, matrix: str) -> str:
    return case.multiplied if matrix in "ab" else case.c if matrix == "c" else case.d


def registers(case: Case, matrix: str) -> int:
    rows, columns = sizes(case)[matrix]
    kind = kind_of(case, matrix)
    if kind == "f16" and matrix in "ab":
        return 8
    return rows * columns * BITS[kind] // (32 * (64 if kind == "f64" else 32))


def stride(case: Case, matrix: str) -> int:
    rows, columns = sizes(case)[matrix]
    least = columns if layout(case, matrix) == "row" else rows
    return (
        least
        + case.wide
        * max(16, registers(case, matrix) * (8 if kind_of(case, matrix) == "f64" else 4))
        * 8
        // BITS[kind_of(case, matrix)]
    )


def layout(case: Case, matrix: str) -> str:
    return {"r": "row", "c": "col"}[case.layouts["abcd".index(matrix)]]


def size_of(case: Case, matrix: str) -> int:
    """Bytes of a matrix in memory."""
    rows, columns = sizes(case)[matrix]
    lines = rows if layout(case, matrix) == "row" else columns
    return -(-(stride(case, matrix) * lines * BITS[kind_of(case, matrix)] // 8) // 64) * 64


class Product(Kernel):
    """Loads A, B and C, multiplies, and stores D."""

    def __init__(self, case: Case, early: bool = False) -> None:
        """`early`: as PTX 6.0 to 6.2 has it, which writes no `.aligned` yet."""
        self.case = case
        self.places, at = {}, 0
        for matrix in "abc":
            self.places[matrix] = at
            at += size_of(case, matrix)
        self.size, self.out_size = at, size_of(case, "d")
        dot = f".{case.space}" if case.space else ""
        lines = []
        for matrix in "abcd":
            count = registers(case, matrix)
            kind = "b32" if matrix in "ab" and kind_of(case, matrix) != "f64" else STORED[kind_of(case, matrix)]
            lines.append(f".reg .{kind} %{matrix}<{count}>;")
        lines += [
            f".shared .align 64 .b8 m[{self.size + self.out_size}];",
            ".reg .b32 %t, %u; .reg .b64 %in, %out, %q, %p<4>; .reg .b8 %h; .reg .b16 %w;",
            "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %u, %ctaid.x;",
            f"mul.wide.u32 %q, %u, {self.size}; add.u64 %in, %in, %q; mul.wide.u32 %q, %u, {self.out_size};",
            "add.u64 %out, %out, %q;",
        ]
        if case.space == "shared":
            lines.append("mov.u64 %q, m; cvt.u32.u64 %u, %q; mad.lo.u32 %u, %t, 4, %u; mad.wide.u32 %q, %t, 4, %in;")
            lines.append(".reg .b32 %v;")
            lines += [
                f"ld.global.b32 %v, [%q+{i}]; st.shared.b32 [%u+{i}], %v;" for i in range(0, self.size - 127, 128)
            ]
            rest = self.size % 128
            if rest:
                at_ = self.size - rest
                lines.append(f".reg .pred %f; setp.lt.u32 %f, %t, {rest // 4}; @%f ld.global.b32 %v, [%q+{at_}];")
                lines.append(f"@%f st.shared.b32 [%u+{at_}], %v;")
            lines.append("bar.sync 0; mov.u64 %in, m;")
        for i, matrix in enumerate("abc"):
            lines.append(f"add.u64 %p{i}, %in, {self.places[matrix]};")
        lines.append("mov.u64 %p3, %out;")
        out = "" if case.space != "shared" else "global"
        for i, matrix in enumerate("abc"):
            words = f"{layout(case, matrix)}.{case.shape}{dot}.{kind_of(case, matrix)}"
            given = f", {stride(case, matrix)}" if case.wide else ""
            lines.append(f"wmma.load.{matrix}.sync.aligned.{words} {self.vector(matrix)}, [%p{i}]{given};")
        lines.append(f"{self.instruction()} {', '.join(map(self.vector, 'dabc'))};")
        given = f", {stride(case, 'd')}" if case.wide else ""
        space = f".{out}" if out else dot
        lines.append(
            f"wmma.store.d.sync.aligned.{layout(case, 'd')}.{case.shape}{space}.{case.d} [%p3], {self.vector('d')}{given};"
        )
        self.text = (
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
            + "\n".join(lines)
            + "\nret;\n}\n"
        )
        if early:
            self.text = self.text.replace(".aligned", "").replace("9.0\n.target sm_90", "6.1\n.target sm_70")
        elif case in SATURATED:  # until PTX 6.5
            self.text = self.text.replace("9.0\n.target sm_90", "6.4\n.target sm_70")
        self.device = load(self.text, "k.ptx")

    def vector(self, matrix: str) -> str:
        return "{" + ", ".join(f"%{matrix}{i}" for i in range(registers(self.case, matrix))) + "}"

    def instruction(self) -> str:
        case = self.case
        types = (
            f"{case.d}.{case.c}"
            if case.multiplied == "f16"
            else f"{case.d}.{case.multiplied}.{case.multiplied}.{case.c}"
        )
        shapes = f"{layout(case, 'a')}.{layout(case, 'b')}.{case.shape}"
        if case.multiplied == "b1":
            return f"wmma.mma.{case.words}.popc.sync.aligned.{shapes}.{types}"
        if case.words in ("rz", "rm", "rp"):
            return f"wmma.mma.sync.aligned.{shapes}.{case.words}.{types}"
        return f"wmma.mma.sync.aligned.{shapes}.{types}{'.satfinite' * (case.words == 'satfinite')}"


def in_memory(case: Case, matrix: str, raw: Any) -> Any:
    """The bytes of a matrix of elements."""
    lines = raw if layout(case, matrix) == "row" else raw.T
    bits = BITS[kind_of(case, matrix)]
    total = np.zeros(size_of(case, matrix) * 8 // bits, np.uint64)
    for i, line in enumerate(lines):
        total[i * stride(case, matrix) :][: len(line)] = line
    if bits >= 8:
        return total.astype(f"u{bits // 8}").view(np.uint8)
    per = 8 // bits
    return (total.reshape(-1, per) << np.arange(0, 8, bits, dtype=np.uint64)).sum(1).astype(np.uint8)


def from_memory(case: Case, memory: Any) -> Any:
    m, n = sizes(case)["d"]
    held = memory.view(f"u{BITS[case.d] // 8}")
    lines = m if layout(case, "d") == "row" else n
    found = np.stack([held[i * stride(case, "d") :][: m + n - lines] for i in range(lines)])
    return found if layout(case, "d") == "row" else found.T


def made_finite(kind: str, bits: Any) -> Any:
    """The largest number of its sign for an infinite one, and 0 for NaN."""
    infinity = {"f16": 0x7C00, "f32": 0x7F80_0000}[kind]
    size = bits & np.uint64((1 << BITS[kind] - 1) - 1)
    return np.where(size > infinity, np.uint64(0), np.where(size == infinity, bits - np.uint64(1), bits))


def product(case: Case, a: Any, b: Any, c: Any) -> Any:
    """The bits of many products: (product, row, column)."""
    given = (numbers(case.multiplied, a), numbers(case.multiplied, b), numbers(case.c, c))
    if case.multiplied not in FLOATS:
        operation = case.words if case.multiplied == "b1" else ""
        return whole_sums(*given, operation, saturates=case.words == "satfinite")
    found = sums(*given, case.d, case.words if case.words.startswith("r") else "rn")
    return made_finite(case.d, found) if case.words == "satfinite" else found


def compare(case: Case, count: int, seed: int, early: bool = False) -> None:
    chance = np.random.default_rng(seed)
    built = Product(case, early)
    drawn_ = [{x: drawn(kind_of(case, x), sizes(case)[x], chance) for x in "abc"} for _ in range(count)]
    memory = np.stack([np.concatenate([in_memory(case, x, e[x]) for x in "abc"]) for e in drawn_])
    found = built.run(memory, arrays=True)
    assert (found[:1] == built.run(memory[:1], arrays=False)).all(), "the machines differ"
    wanted = product(case, *(np.stack([e[x] for e in drawn_]) for x in "abc"))
    assert all((from_memory(case, out) == one).all() for out, one in zip(found, wanted, strict=True)), case


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.shape}-{case.multiplied}-{case.d}-{case.layouts}-{case.words}"
)
def test_products_go_from_memory_to_memory(case: Case) -> None:
    compare(case, 2, 1)


#: The only products that PTX 6.0 to 6.2 has.
HALVES = [case for case in CASES if case.multiplied == "f16"]


@pytest.mark.parametrize("case", HALVES, ids=lambda case: f"{case.shape}-{case.c}-{case.d}")
def test_products_of_old_modules_are_those_of_new_ones(case: Case) -> None:
    compare(case, 2, 3, early=True)


@pytest.mark.parametrize("case", SATURATED, ids=lambda case: f"{case.shape}-{case.c}-{case.d}")
def test_saturated_sums_of_halves_are_finite(case: Case) -> None:
    """Of large numbers, infinite ones and NaN: each comes up, and so does a sum that nothing is done to."""
    compare(case, 2, 5)
    chance = np.random.default_rng(6)
    found = {x: drawn(kind_of(case, x), sizes(case)[x], chance) for x in "abc"}
    found["a"][:2, 0], found["b"][0] = (0x7BFF, 0xFBFF), 0x7BFF  # of opposite signs, too large for halves
    found["a"][2, :2] = 0x7C00, 0xFC00  # an infinite sum, or none
    found["a"][3:] = found["c"][3:] = 0
    plain, limited = (product(one, *(found[x][None] for x in "abc"))[0] for one in (case._replace(words=""), case))
    assert (plain != limited).any() and (plain == limited).any()
    built = Product(case)
    memory = np.concatenate([in_memory(case, x, found[x]) for x in "abc"])[None]
    for arrays in (False, True):
        assert (from_memory(case, built.run(memory, arrays=arrays)[0]) == limited).all()


@pytest.mark.parametrize("number", [7, len(CASES) - 2])
def test_explored_products_are_those_of_runs(number: int) -> None:
    """Integers, and doubles that are small integers."""
    case = CASES[number]
    chance = np.random.default_rng(number)
    built = Product(case)
    given = {x: drawn(kind_of(case, x), sizes(case)[x], chance) for x in "abc"}
    if case.multiplied == "f64":
        given = {x: chance.integers(-9, 10, sizes(case)[x]).astype(np.float64).view(np.uint64) for x in "abc"}
    memory = np.concatenate([in_memory(case, x, given[x]) for x in "abc"])
    found = built.explored_memory(memory, 0x5555_5555)[: built.out_size]
    assert (from_memory(case, found) == product(case, *(given[x][None] for x in "abc"))[0]).all()


@pytest.mark.campaign
def test_many_products_go_from_memory_to_memory() -> None:
    for case in (*CASES, *SATURATED):
        compare(case, share(1000), 2)
    for case in HALVES:
        compare(case, share(1000), 4, early=True)


@needs_ptxas
def test_ptxas_takes_what_is_tested() -> None:
    for case in CASES:
        text = Product(case).text
        assert not ptxas.check_module(text), text


def test_every_form_is_tested() -> None:
    tested = set()
    for built in (*map(Product, (*CASES, *SATURATED)), *(Product(case, early=True) for case in HALVES)):
        for line in built.text.split(";"):
            name = line.split()[0] if line.split() else ""
            if name.startswith("wmma."):
                opcode, *modifiers = name.split(".")
                uses = candidates(opcode, tuple(modifiers))
                assert isinstance(uses, tuple), name
                tested |= {use.form.syntax for use in uses}
    assert [form.syntax for form in wmma.FORMS if form.syntax not in tested] == []


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        ("mad.wide.u32 %p0, %t, 32, %in;", "bad-matrix"),
        ("add.u64 %p0, %p0, 16;", "misaligned"),
    ],
)
def test_errors_are_told(before: str, kind: str) -> None:
    built = Product(CASES[0])
    built.device = load(built.text.replace("wmma.load.a", f"{before} wmma.load.a"), "k.ptx")
    memory = np.zeros((1, built.size), np.uint8)
    with pytest.raises(KernelError) as caught:
        built.run(memory, arrays=False)
    assert caught.value.kind == kind
    with pytest.raises(AssertionError, match="leaves open"):
        built.run(memory, arrays=True)


LAUNCHES = Path(__file__).resolve().parents[5] / "shared" / "launches"


@pytest.mark.long  # a smaller one of Triton, of warpgroups, is in every run: test_wgmma_gemm.py
def test_what_triton_makes_of_a_product_computes_it() -> None:
    source = LAUNCHES / "triton_matmul_sm80.ptx"
    if not source.exists():
        pytest.skip("its source is not here")
    chance = np.random.default_rng(0)
    size = 128
    a, b = (chance.integers(-4, 5, (size, size)).astype(np.float16) for _ in range(2))
    c, none = np.zeros((size, size), np.float16), np.zeros(16, np.uint32)
    ptxmm.run(
        source, entry="matmul", grid=(1, 1, 1), block=(128, 1, 1), dynamic_shared=65536,
        args=[a, b, c, *[size] * 6, none.copy(), none.copy()],
    )  # fmt: skip
    wanted = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    assert (c == wanted).all()


def test_what_nvcc_makes_of_products_computes_them(tmp_path: Path) -> None:
    """The products by `wmma`; a stride there is less than the manual asks for, and is told."""
    nvcc, source = shutil.which("nvcc"), LAUNCHES / "cu" / "k11_mma.cu"
    if nvcc is None or not source.exists():
        pytest.skip("there is no nvcc here" if nvcc is None else "its source is not here")
    made = tmp_path / "k.ptx"
    command = [nvcc, "-arch=sm_90", "-ptx", source, "-o", made]
    if subprocess.run(command, capture_output=True, timeout=900, check=False).returncode:
        pytest.skip("another compiler")
    text = made.read_text()
    chance = np.random.default_rng(0)
    a, b = (chance.integers(-3, 4, (16, 16)).astype(np.float16) for _ in range(2))
    bytes_ = chance.integers(-128, 128, (32, 16)).astype(np.int8)

    def run(text: str) -> list[Any]:
        doubles = np.arange(64, dtype=np.float64)
        arrays = [a.copy(), b.copy(), np.zeros(1024, np.float32), doubles, bytes_.copy(), np.zeros((8, 32), np.int32)]
        made.write_text(text)
        ptxmm.run(made, entry="w", grid=(1, 1, 1), block=(32, 1, 1), args=arrays)
        return arrays

    with pytest.raises(KernelError, match="the stride of a matrix is less than 32"):
        run(text)
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if "wmma.store.d.sync.aligned.col.m32n8k16" in line:
            lines[i] = re.sub(r"%r\d+;", "32;", line)
    end = next(i for i, line in enumerate(lines) if "store" in line and "m16n16k8.f32" in line)
    _, _, singles, doubles, _, integers = run("\n".join([*lines[: end + 1], "ret;", "}"]))
    assert (bytes_.astype(int) @ bytes_[:8].T.astype(int) + 1 == integers.T).all()
    first = np.arange(32).reshape(8, 4)
    assert (doubles.reshape(8, 8) == first @ first.T).all()
    product = (a.astype(float) @ b.astype(float).T).ravel()[:128]
    assert (singles[:256].reshape(16, 16) == product.reshape(16, 8) @ product.reshape(8, 16)).all()


def test_a_fraction_is_rounded_once() -> None:
    assert summed([], [], element("f32", 0x3F800001)._replace(value=Fraction(1, 3)), "f32", "rn") == 0x3EAAAAAB
