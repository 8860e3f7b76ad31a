"""What each instruction computes, against the manual's pseudo-code on Python's integers, at each type's boundaries."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from ptxcore.isa.table import TYPED
from ptxcore.machine.explore.concrete import Trace, run
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.effects import Effect
from ptxcore.machine.ir.operands import Variable
from ptxcore.machine.lower.code import prepare
from ptxcore.syntax.reader import read_statements
from ptxcore.values.terms import Term, evaluate

X = {"x": Variable(64, 64)}


def boundary(width: int) -> list[int]:
    top = 1 << width
    return sorted({0, 1, 2, 5, top // 2 - 1, top // 2, top // 2 + 3, top - 2, top - 1})


def number(kind: str, bits: int) -> int:
    """The number that the bits stand for in a type such as s32."""
    width = int(kind[1:])
    bits &= (1 << width) - 1
    return bits - (1 << width) if kind[0] == "s" and bits >> (width - 1) else bits


def execute(text: str, initial: dict[str, int] | None = None, answers: tuple[int, ...] = ()) -> Trace:
    given = list(answers)
    return run(prepare(read_statements(text), TYPED, X, initial or {}), lambda effect: given.pop(0))


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def clamp(value: int, kind: str) -> int:
    width = int(kind[1:])
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    return max(low, min(high, value))


NUMBERS = ("u16", "u32", "u64", "s16", "s32", "s64")
BITS = ("b16", "b32", "b64")
#: Opcode, types, and the number that comes out for the numbers that go in.
BINARY: list[tuple[str, tuple[str, ...], Callable[[int, int], int]]] = [
    ("add", NUMBERS, lambda a, b: a + b),
    ("sub", NUMBERS, lambda a, b: a - b),
    ("mul.lo", NUMBERS, lambda a, b: a * b),
    ("div", NUMBERS, quotient),
    ("rem", NUMBERS, lambda a, b: a - b * quotient(a, b)),
    ("min", NUMBERS, min),
    ("max", NUMBERS, max),
    ("and", BITS, lambda a, b: a & b),
    ("or", BITS, lambda a, b: a | b),
    ("xor", BITS, lambda a, b: a ^ b),
    ("add.sat", ("s32",), lambda a, b: clamp(a + b, "s32")),
    ("sub.sat", ("s32",), lambda a, b: clamp(a - b, "s32")),
]


@pytest.mark.parametrize(("opcode", "kind", "meaning"), [(o, k, m) for o, kinds, m in BINARY for k in kinds])
def test_binary_arithmetic(opcode: str, kind: str, meaning: Callable[[int, int], int]) -> None:
    width = int(kind[1:])
    code = prepare(read_statements(f"ld.{kind} %a, [x]; ld.{kind} %b, [x]; {opcode}.{kind} %d, %a, %b;"), TYPED, X, {})
    symbolic = explore(code)
    first, second = (e.result for e in symbolic.effects)
    assert isinstance(first, Term) and isinstance(second, Term)
    for a, b in itertools.product(boundary(width), repeat=2):
        if b == 0 and opcode in ("div", "rem"):
            continue  # unspecified
        expected = meaning(number(kind, a), number(kind, b)) % (1 << width)
        answers = [a, b]
        assert run(code, lambda e, left=answers: left.pop(0)).registers["d"].value == expected  # type: ignore[misc]
        assert evaluate(symbolic.registers["d"].value, {first: a, second: b}) == expected


@pytest.mark.parametrize("kind", NUMBERS)
def test_high_and_wide_products(kind: str) -> None:
    width = int(kind[1:])
    for a, b in itertools.product(boundary(width), repeat=2):
        product = number(kind, a) * number(kind, b)
        done = execute(f"mul.hi.{kind} %d, %a, %b; mad.lo.{kind} %e, %a, %b, 3;", {"a": a, "b": b}).registers
        assert done["d"].value == (product >> width) % (1 << width)
        assert done["e"].value == (product + 3) % (1 << width)
        if width < 64:
            wide = execute(f"mul.wide.{kind} %d, %a, %b; mad.wide.{kind} %e, %a, %b, -1;", {"a": a, "b": b}).registers
            assert (wide["d"].value, wide["d"].width) == (product % (1 << 2 * width), 2 * width)
            assert wide["e"].value == (product - 1) % (1 << 2 * width)


@pytest.mark.parametrize("kind", ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"))
def test_shifts_clamp_their_amount(kind: str) -> None:
    width = int(kind[1:])
    for a, amount in itertools.product(boundary(width), (0, 1, width - 1, width, width + 1, 200, 2**32 - 1)):
        done = execute(f"shr.{kind} %d, %a, %n; shl.b{width} %e, %a, %n;", {"a": a, "n": amount}).registers
        assert done["d"].value == (number(kind, a) >> min(amount, 64)) % (1 << width)
        assert done["e"].value == (a << amount if amount < width else 0) % (1 << width)


@pytest.mark.parametrize("kind", ("s16", "s32", "s64"))
def test_negation_and_magnitude(kind: str) -> None:
    width = int(kind[1:])
    for a in boundary(width):
        done = execute(f"neg.{kind} %d, %a; abs.{kind} %e, %a; not.b{width} %f, %a;", {"a": a}).registers
        assert done["d"].value == -a % (1 << width)
        assert done["e"].value == abs(number(kind, a)) % (1 << width)
        assert done["f"].value == ~a % (1 << width)


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}


@pytest.mark.part(4)
@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("kind", ("u16", "s16", "u32", "s32", "u64", "s64"))
def test_comparisons(op: str, kind: str) -> None:
    if kind[0] == "s" and op in ("lo", "ls", "hi", "hs"):
        return
    for a, b in itertools.product(boundary(int(kind[1:])), repeat=2):
        t = COMPARISONS[op](number(kind, a), number(kind, b))
        done = execute(f"setp.{op}.{kind} %p|%q, %a, %b; selp.{kind} %d, 1, 2, %p;", {"a": a, "b": b}).registers
        assert (done["p"].value, done["q"].value, done["d"].value) == (t, not t, 1 if t else 2)
        assert done["p"].width == 1


@pytest.mark.parametrize("op", ("and", "or", "xor"))
def test_comparisons_combine_with_a_predicate(op: str) -> None:
    combine = {"and": lambda t, c: t & c, "or": lambda t, c: t | c, "xor": lambda t, c: t ^ c}[op]
    for a, c, negated in itertools.product((0, 1), repeat=3):
        text = f"setp.eq.{op}.u32 %p|%q, %a, 1, {'!' * negated}%c; {op}.pred %s, %p, %c; not.pred %n, %p;"
        done = execute(text, {"a": a, "c": c}).registers
        assert done["p"].value == combine(a, c ^ negated)
        assert done["q"].value == combine(1 - a, c ^ negated)
        assert done["s"].value == combine(done["p"].value, c)
        assert done["n"].value == 1 - int(str(done["p"].value))


@pytest.mark.parametrize("source", [k + w for k in "us" for w in ("8", "16", "32", "64")])
@pytest.mark.parametrize("to", [k + w for k in "us" for w in ("8", "16", "32", "64")])
def test_conversions_extend_cut_and_saturate(source: str, to: str) -> None:
    # ptxas takes .sat only where a value of the source may not fit.
    narrows = any(clamp(number(source, a), to) != number(source, a) for a in boundary(int(source[1:])))
    sat = ".sat" if narrows else ""
    for a in boundary(int(source[1:])):
        text = f".reg .b64 %a, %d, %e; cvt.{to}.{source} %d, %a; cvt{sat}.{to}.{source} %e, %a;"
        done = execute(text, {"a": a | 5 << int(source[1:])}).registers
        value = number(source, a)
        # The result is extended into the wider register as its own type says.
        assert done["d"].value == number(to, value) % (1 << 64)
        assert done["e"].value == clamp(value, to) % (1 << 64)


def test_loads_extend_into_wider_registers_and_stores_cut() -> None:
    done = execute(
        ".reg .b32 %a, %b, %c; ld.u8 %a, [x]; ld.s8 %b, [x]; ld.b8 %c, [x]; st.u8 [x], %b; st.b64 [x], -1;",
        answers=(0x1FF, 0x80, 0x80),
    )
    assert [done.registers[r].value for r in "abc"] == [0xFF, 0xFFFFFF80, 0x80]
    assert [(e.width, e.value) for e in done.effects[3:]] == [(8, 0x80), (64, 2**64 - 1)]


ATOMICS: list[tuple[str, tuple[str, ...], Callable[[int, int], int]]] = [
    ("add", ("u32", "s32", "u64"), lambda old, b: old + b),
    ("min", ("u32", "s32", "u64", "s64"), min),
    ("max", ("u32", "s32", "u64", "s64"), max),
    ("and", ("b32", "b64"), lambda old, b: old & b),
    ("or", ("b32", "b64"), lambda old, b: old | b),
    ("xor", ("b32", "b64"), lambda old, b: old ^ b),
    ("inc", ("u32",), lambda old, b: 0 if old >= b else old + 1),
    ("dec", ("u32",), lambda old, b: b if old == 0 or old > b else old - 1),
]


@pytest.mark.parametrize(("op", "kind", "meaning"), [(o, k, m) for o, kinds, m in ATOMICS for k in kinds])
def test_atomic_operations(op: str, kind: str, meaning: Callable[[int, int], int]) -> None:
    width = int(kind[1:])
    for old, b in itertools.product(boundary(width), repeat=2):
        expected = meaning(number(kind, old), number(kind, b)) % (1 << width)
        done = execute(f"atom.{op}.{kind} %d, [x], %b; red.{op}.{kind} [x], %b;", {"b": b}, (old, old))
        assert [(e.kind, e.value, e.writes) for e in done.effects] == [("atom", expected, 1), ("red", expected, 1)]
        assert done.registers["d"].value == old


def test_exchange_and_compare_and_swap() -> None:
    text = (
        "atom.exch.b64 %a, [x], 7; atom.cas.b32 %b, [x], 1, 2; atom.cas.b32 %c, [x], 1, 2; atom.cas.b16 _, [x], 1, 2;"
    )
    done = execute(text, answers=(9, 1, 3, 1))
    assert [(e.width, e.value, e.writes) for e in done.effects] == [(64, 7, 1), (32, 2, 1), (32, 2, 0), (16, 2, 1)]
    assert [e.returns for e in done.effects] == [True, True, True, False]
    assert [done.registers[r].value for r in "abc"] == [9, 1, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ld.u32 %a, [x]", ("load", "weak", None, "generic", "global")),
        ("ld.weak.shared::cluster.u32 %a, [%rd1]", ("load", "weak", None, "generic", "shared::cluster")),
        ("ld.relaxed.cluster.shared.u32 %a, [%rd1]", ("load", "relaxed", "cluster", "generic", "shared")),
        ("ld.acquire.sys.global.L1::evict_last.u32 %a, [x]", ("load", "acquire", "sys", "generic", "global")),
        ("ld.volatile.u32 %a, [%rd1]", ("load", "relaxed", "sys", "generic", "generic")),
        ("ld.mmio.relaxed.sys.global.u32 %a, [x]", ("load", "relaxed", "sys", "generic", "global")),
        ("ld.global.nc.cg.u32 %a, [x]", ("load", "weak", None, "texture", "global")),
        ("ld.global.cv.u32 %a, [x]", ("load", "weak", None, "generic", "global")),
        ("st.release.gpu.u32 [x], 1", ("store", "release", "gpu", "generic", "global")),
        ("st.volatile.global.u32 [x], 1", ("store", "relaxed", "sys", "generic", "global")),
        ("atom.add.u32 %a, [x], 1", ("atom", "relaxed", "gpu", "generic", "global")),
        ("atom.global.sys.acq_rel.add.u32 %a, [x], 1", ("atom", "acq_rel", "sys", "generic", "global")),
        ("red.release.cta.add.u32 [x], 1", ("red", "release", "cta", "generic", "global")),
        ("fence.gpu", ("fence", "acq_rel", "gpu", "generic", "generic")),
        ("fence.sc.cluster", ("fence", "sc", "cluster", "generic", "generic")),
        ("membar.gl", ("fence", "sc", "gpu", "generic", "generic")),
        ("membar.cta", ("fence", "sc", "cta", "generic", "generic")),
        ("fence.proxy.alias", ("proxy_fence", "weak", None, "alias", "generic")),
        ("fence.proxy.async", ("proxy_fence", "weak", None, "async", "generic")),
        ("membar.proxy.alias", ("proxy_fence", "weak", None, "alias", "generic")),
        ("fence.proxy.async.shared::cta", ("proxy_fence", "weak", None, "async.shared::cta", "generic")),
        ("bar.sync 0", ("barrier", "weak", None, "generic", "generic")),
    ],
)
def test_what_instructions_say_to_the_memory_model(text: str, expected: tuple[str, ...]) -> None:
    (effect,) = execute(text + ";", {"rd1": 64}, (0,)).effects
    assert (effect.kind, effect.semantics, effect.scope, effect.proxy, effect.space) == expected


def test_barriers() -> None:
    seen: list[tuple[object, ...]] = []
    text = """bar.sync 3; barrier.cta.sync.aligned 4, 64; bar.arrive %a, %b; bar.red.popc.u32 %d, 1, !%p;
        barrier.red.and.pred %q, 2, 96, %p;"""

    def answer(effect: Effect) -> int:
        seen.append((effect.operator, effect.operand, effect.width))
        return 5

    done = run(prepare(read_statements(text), TYPED, X, {"a": 5, "b": 64, "p": 1}), answer)
    assert [(e.barrier, e.identity, e.count) for e in done.effects] == [
        ("sync", 3, None), ("sync", 4, 64), ("arrive", 5, 64), ("red", 1, None), ("red", 2, 96),
    ]  # fmt: skip
    assert seen == [("popc", 0, 32), ("and", 1, 1)]
    assert (done.registers["d"].value, done.registers["q"].value) == (5, 1)


def test_addresses_are_numbers() -> None:
    text = (
        "mov.u64 %rd0, x; cvta.to.global.u64 %rd1, %rd0; add.u64 %rd2, %rd1, 8; st.u8 [%rd2+-4], 1; mov.u64 %rd3, x+16;"
    )
    done = execute(text)
    assert done.effects[0].address == 68
    assert done.registers["rd3"].value == 80


def test_a_predicated_instruction_happens_or_does_not() -> None:
    text = "setp.eq.u32 %p, %a, 1; @%p st.u32 [x], 1; @!%p st.u32 [x], 2; @%p mov.u32 %b, 7; @%p exit; st.u32 [x], 3;"
    assert [e.value for e in execute(text, {"a": 1, "b": 0}).effects] == [1]
    assert [e.value for e in execute(text, {"a": 0, "b": 0}).effects] == [2, 3]
    assert execute(text, {"a": 1, "b": 0}).registers["b"].value == 7
