"""The symbolic and the concrete execution of a thread agree: the promise on which the engine's oracle rests."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import event, given, settings
from hypothesis import strategies as st

from litmus.formats.short import SHORT
from ptxcore.isa.table import TYPED
from ptxcore.machine.code import ThreadCode, Variable, prepare
from ptxcore.machine.effects import Effect
from ptxcore.machine.explore import explore
from ptxcore.machine.run import run
from ptxcore.syntax.reader import read_statements
from ptxcore.values.terms import Term, Value, evaluate

VARIABLES = {"x": Variable(64), "y": Variable(128), "z": Variable(192)}

REGISTERS = st.sampled_from(("%r0", "%r1", "%r2"))
PREDICATES = st.sampled_from(("%p0", "%p1"))
NUMBERS = st.integers(0, 2).map(str)
SOURCES = st.one_of(REGISTERS, NUMBERS)
LOCATIONS = st.sampled_from(("[x]", "[y]", "[z+4]", "[%rd0]", "[%r1]"))


def shaped(template: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.fixed_dictionaries(parts).map(lambda chosen: template.format(**chosen))


TYPED_INSTRUCTIONS = st.one_of(
    shaped("mov.u32 {d}, {a}", d=REGISTERS, a=SOURCES),
    shaped("add.u32 {d}, {a}, {b}", d=REGISTERS, a=SOURCES, b=SOURCES),
    shaped("xor.b32 {d}, {a}, {b}", d=REGISTERS, a=REGISTERS, b=SOURCES),
    shaped("selp.b32 {d}, {a}, {b}, {p}", d=REGISTERS, a=SOURCES, b=SOURCES, p=PREDICATES),
    shaped("setp.{op}.s32 {p}, {a}, {b}", op=st.sampled_from(("eq", "ne", "lt")), p=PREDICATES, a=REGISTERS, b=SOURCES),
    shaped("setp.eq.and.u32 {p}|_, {a}, {b}, !{q}", p=PREDICATES, q=PREDICATES, a=REGISTERS, b=SOURCES),
    shaped("ld.weak.u32 {d}, {m}", d=REGISTERS, m=LOCATIONS),
    shaped("ld.acquire.gpu.s8 {d}, {m}", d=REGISTERS, m=LOCATIONS),
    shaped("st.relaxed.cta.u32 {m}, {a}", m=LOCATIONS, a=SOURCES),
    shaped("st.weak.u8 {m}, {a}", m=LOCATIONS, a=SOURCES),
    shaped("atom.relaxed.add.u32 {d}, {m}, {a}", d=REGISTERS, m=LOCATIONS, a=SOURCES),
    shaped("atom.cas.b32 {d}, {m}, {a}, {b}", d=REGISTERS, m=LOCATIONS, a=SOURCES, b=SOURCES),
    shaped("atom.exch.b32 _, {m}, {a}", m=LOCATIONS, a=SOURCES),
    shaped("red.max.s32 {m}, {a}", m=LOCATIONS, a=SOURCES),
    shaped("bar.red.or.pred {p}, {a}, !{q}", p=PREDICATES, q=PREDICATES, a=SOURCES),
    shaped("bar.sync {a}", a=SOURCES),
    st.sampled_from(("fence.sc.gpu", "exit")),
)
GUARDS = st.sampled_from(("", "", "", "@%p0 ", "@!%p0 ", "@%p1 ", "@!%p1 "))
LABELS = st.sampled_from(("A", "B", "C"))
LINES = st.one_of(
    st.builds(str.__add__, GUARDS, TYPED_INSTRUCTIONS),
    st.builds("{}bra {}".format, GUARDS, LABELS),
)

SHORT_LINES = st.one_of(
    shaped("ld.relaxed.gpu {d}, {m}", d=st.sampled_from(("r0", "r1")), m=st.sampled_from(("x", "y", "r2"))),
    shaped("st.weak {m}, {a}", m=st.sampled_from(("x", "y", "r2")), a=st.sampled_from(("r0", "r1", "1"))),
    shaped("atom.relaxed.gpu.cas {d}, x, 0, 1", d=st.sampled_from(("r0", "r1"))),
    shaped("add {d}, {a}, 1", d=st.sampled_from(("r0", "r1")), a=st.sampled_from(("r0", "r1"))),
    shaped("b{c} {a}, {b}, {l}", c=st.sampled_from(("eq", "ne", "lt", "ge")), a=st.sampled_from(("r0", "r1")),
           b=st.sampled_from(("r1", "0", "1")), l=LABELS),
    shaped("goto {l}", l=LABELS),
)  # fmt: skip


@st.composite
def programs(draw: st.DrawFn, lines: st.SearchStrategy[str]) -> str:
    body = draw(st.lists(lines, min_size=1, max_size=9))
    for label in "ABC":
        body.insert(draw(st.integers(0, len(body))), f"{label}:")
    return "\n".join(line if line.endswith(":") else f"{line};" for line in body)


def agree(code: ThreadCode, answers: list[int], unroll: int) -> str:
    given_out: list[int] = []

    def answer(effect: Effect) -> int:
        given_out.append(answers[len(given_out)] if len(given_out) < len(answers) else 0)
        return given_out[-1]

    trace = run(code, answer, unroll=unroll)
    every = explore(code, unroll=unroll, name="T")
    known: dict[Term, int] = defaultdict(int)

    def number(value: Value | None) -> int | None:
        return None if value is None else evaluate(value, known)

    concrete = iter(trace.effects)
    index: dict[int, int] = {}  # of a symbolic effect -> of the concrete one
    for effect in every.effects:
        if not number(effect.guard):
            continue
        same = next(concrete, None)
        assert same is not None, "the symbolic execution has an effect too many"
        index[effect.index] = same.index
        if effect.result is not None:
            assert same.answer is not None
            known[effect.result] = same.answer
        for field in ("kind", "instruction", "semantics", "scope", "proxy", "space", "width", "returns", "barrier",
                      "operator", "instance"):  # fmt: skip
            assert getattr(effect, field) == getattr(same, field), field
        for field in ("address", "value", "writes", "identity", "count", "operand"):
            assert number(getattr(effect, field)) == getattr(same, field), field
        for field in ("address_dependencies", "data_dependencies", "control_dependencies"):
            holds = {index[i] for i, condition in getattr(effect, field).items() if number(condition)}
            assert holds == set(getattr(same, field)), field
    assert next(concrete, None) is None, "the concrete execution has an effect too many"
    finishes, cut = number(every.finishes), number(every.cut)
    assert trace.status == ("finished" if finishes else "cut" if cut else "waits")
    assert not (finishes and cut)
    if finishes:
        assert {n: number(r.value) for n, r in every.registers.items()} == {
            n: r.value for n, r in trace.registers.items()
        }
    return trace.status


ANSWERS = st.lists(st.integers(0, 2), max_size=8)


@settings(max_examples=200, deadline=None)
@given(programs(LINES), ANSWERS, st.integers(1, 3))
def test_exploring_and_running_agree_on_ptx(text: str, answers: list[int], unroll: int) -> None:
    initial = {"r0": 0, "r1": 1, "r2": 2, "p0": 0, "p1": 1, "rd0": 64}
    event(agree(prepare(read_statements(text), TYPED, VARIABLES, initial), answers, unroll))


@settings(max_examples=200, deadline=None)
@given(programs(SHORT_LINES), ANSWERS, st.integers(1, 3))
def test_exploring_and_running_agree_on_the_short_dialect(text: str, answers: list[int], unroll: int) -> None:
    statements = read_statements(text, bare_addresses=True)
    event(agree(prepare(statements, SHORT, VARIABLES, {"r2": 128}), answers, unroll))
