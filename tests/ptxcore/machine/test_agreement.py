"""The symbolic and the concrete execution of a thread agree: the promise on which the engine's oracle rests."""

from __future__ import annotations

from collections import defaultdict

from campaigns import drawn
from hypothesis import event, given, settings
from hypothesis import strategies as st

from litmus.formats.short import SHORT
from ptxcore.isa.table import TYPED
from ptxcore.machine.explore.concrete import run
from ptxcore.machine.explore.symbolic import explore
from ptxcore.machine.ir.effects import Effect
from ptxcore.machine.ir.operands import Variable
from ptxcore.machine.lower.code import ThreadCode, prepare
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


#: Fields of effects that are no values, and those that are.
SAME = (
    "kind", "instruction", "semantics", "scope", "proxy", "space", "width", "returns", "barrier", "operator", "instance",
    "restrict", "operation", "level", "aligned", "mechanism", "reads", "how",
)  # fmt: skip
VALUES = (
    "address", "value", "writes", "identity", "count", "operand", "mask", "source", "size", "fill", "selected", "pending",
)  # fmt: skip


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
        for field in SAME:
            assert getattr(effect, field) == getattr(same, field), field
        for field in VALUES:
            assert number(getattr(effect, field)) == getattr(same, field), field
        assert tuple(map(number, effect.operands)) == same.operands
        assert index.get(effect.agent, -1) == same.agent
        assert index.get(effect.group, -1) == same.group
        for field in ("address_dependencies", "data_dependencies", "control_dependencies"):
            holds = {index[i] for i, condition in getattr(effect, field).items() if number(condition)}
            assert holds == set(getattr(same, field)), field
    assert next(concrete, None) is None, "the concrete execution has an effect too many"
    for before, now in index.items():  # what a wait answers may hang on what comes behind it
        assert number(every.effects[before].complete) == trace.effects[now].complete
    broken = [r for r in every.requirements if number(r.guard) and not number(r.condition)]
    assert [(r.message, r.instruction) for r in broken] == [(r.message, r.instruction) for r in trace.requirements]
    finishes, cut = number(every.finishes), number(every.cut)
    assert trace.status == ("finished" if finishes else "cut" if cut else "waits")
    assert not (finishes and cut)
    if finishes:
        assert {n: number(r.value) for n, r in every.registers.items()} == {
            n: r.value for n, r in trace.registers.items()
        }
    return trace.status


ANSWERS = st.lists(st.integers(0, 2), max_size=8)


@settings(max_examples=drawn(200), deadline=None)
@given(programs(LINES), ANSWERS, st.integers(1, 3))
def test_exploring_and_running_agree_on_ptx(text: str, answers: list[int], unroll: int) -> None:
    initial = {"r0": 0, "r1": 1, "r2": 2, "p0": 0, "p1": 1, "rd0": 64}
    event(agree(prepare(read_statements(text), TYPED, VARIABLES, initial), answers, unroll))


@settings(max_examples=drawn(200), deadline=None)
@given(programs(SHORT_LINES), ANSWERS, st.integers(1, 3))
def test_exploring_and_running_agree_on_the_short_dialect(text: str, answers: list[int], unroll: int) -> None:
    statements = read_statements(text, bare_addresses=True)
    event(agree(prepare(statements, SHORT, VARIABLES, {"r2": 128}), answers, unroll))


# What only the whole model knows: vectors, barrier objects, asynchronous operations, what threads of a warp do together.

WIDE = st.sampled_from(("%rd0", "%rd1", "%rd2"))
FLOATS = st.sampled_from(("%f0", "%f1"))
HALVES = st.sampled_from(("%r1", "%r2"))
OBJECTS = st.sampled_from(("[m]", "[m]", "[n]"))
COUNTS = st.sampled_from(("1", "2", "%r0", "%r1"))
MASKS = st.sampled_from(("3", "-1", "%r1"))
DONE = "mbarrier::complete_tx::bytes"

WHOLE_INSTRUCTIONS = st.one_of(
    shaped("ld.v2.u32 {{{a}, {b}}}, {m}", a=st.just("%r0"), b=st.just("%r2"), m=LOCATIONS),
    shaped("st.v4.u32 {m}, {{{a}, {b}, {c}, 7}}", a=REGISTERS, b=SOURCES, c=REGISTERS, m=LOCATIONS),
    shaped("ld.relaxed.gpu.b128 %q0, {m}", m=LOCATIONS),
    shaped("mov.b128 %q0, {{{a}, {b}}}", a=WIDE, b=WIDE),
    shaped("mov.b64 {{%r0, %r1}}, {a}", a=WIDE),
    shaped("st.b128 {m}, %q0", m=LOCATIONS),
    shaped("atom.global.add.noftz.f16x2 {d}, [x], {a}", d=HALVES, a=HALVES),
    shaped("atom.global.v2.f32.add {{%f0, %f1}}, [x], {{{a}, {b}}}", a=FLOATS, b=FLOATS),
    shaped("red.global.v2.f16x2.max.noftz [x], {{{a}, {b}}}", a=HALVES, b=HALVES),
    shaped("fma.rn.f32 {d}, {a}, {b}, 0f3F000000", d=FLOATS, a=FLOATS, b=FLOATS),
    shaped("ld.f32 {d}, {m}", d=FLOATS, m=LOCATIONS),
    shaped("setp.gt.f32 {p}, {a}, {b}", p=PREDICATES, a=FLOATS, b=FLOATS),
    shaped("add.cc.u32 {d}, {a}, {b}", d=REGISTERS, a=SOURCES, b=SOURCES),
    shaped("addc.cc.u32 {d}, {a}, {b}", d=REGISTERS, a=SOURCES, b=SOURCES),
    shaped("mbarrier.init.shared.b64 {o}, {c}", o=OBJECTS, c=COUNTS),
    shaped("mbarrier.inval.shared.b64 {o}", o=OBJECTS),
    shaped("mbarrier.arrive{w}.shared.b64 {d}, {o}", w=st.sampled_from(("", ".release.cluster")), d=WIDE, o=OBJECTS),
    shaped("mbarrier.arrive.noComplete.shared.b64 _, {o}, {c}", o=OBJECTS, c=COUNTS),
    shaped("mbarrier.arrive_drop.expect_tx.shared.b64 {d}, {o}, {c}", d=WIDE, o=OBJECTS, c=COUNTS),
    shaped("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 {o}, {c}", o=OBJECTS, c=COUNTS),
    shaped("mbarrier.{w}_wait.shared.b64 {p}, {o}, {s}", w=st.sampled_from(("test", "try")), p=PREDICATES, o=OBJECTS, s=WIDE),
    shaped("mbarrier.try_wait.parity.relaxed.cta.shared.b64 {p}, {o}, {c}", p=PREDICATES, o=OBJECTS, c=REGISTERS),
    shaped("cp.async.ca.shared.global [s], {m}, 4, {a}", m=LOCATIONS, a=SOURCES),
    shaped("cp.async.mbarrier.arrive{w}.shared.b64 {o}", w=st.sampled_from(("", ".noinc")), o=OBJECTS),
    shaped(f"cp.async.bulk.shared::cluster.global.{DONE}.multicast::cluster [s], [x], {{z}}, {{o}}, %h0",
           z=st.sampled_from(("16", "%r2")), o=OBJECTS),
    shaped("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [x], [s], {a}", a=REGISTERS),
    shaped(f"st.async.shared::cluster.{DONE}.v2.u32 [s], {{{{{{a}}, {{b}}}}}}, {{o}}", a=REGISTERS, b=REGISTERS, o=OBJECTS),
    shaped(f"red.async.relaxed.cluster.shared::cluster.{DONE}.add.u32 [s], {{a}}, {{o}}", a=REGISTERS, o=OBJECTS),
    shaped("shfl.sync.bfly.b32 {d}|{p}, {a}, {b}, 31, {m}", d=REGISTERS, p=PREDICATES, a=REGISTERS, b=SOURCES, m=MASKS),
    shaped("vote.sync.ballot.b32 {d}, {q}, {m}", d=REGISTERS, q=PREDICATES, m=MASKS),
    shaped("elect.sync {d}|{p}, {m}", d=REGISTERS, p=PREDICATES, m=MASKS),
    shaped("bar.warp.sync {m}", m=MASKS),
    shaped("mov.u64 {d}, %globaltimer", d=WIDE),
    shaped("mapa.shared::cluster.u64 {d}, {a}, {b}", d=WIDE, a=WIDE, b=SOURCES),
    shaped("getctarank.shared::cluster.u64 {d}, {a}", d=REGISTERS, a=WIDE),
    shaped("isspacep.{s} {p}, {a}", s=st.sampled_from(("global", "shared::cta", "shared::cluster")), p=PREDICATES, a=WIDE),
    st.sampled_from((
        "cp.async.commit_group", "cp.async.wait_group 1", "cp.async.wait_all", "cp.async.bulk.wait_group.read 0",
        "barrier.cluster.arrive.relaxed", "barrier.cluster.wait", "fence.mbarrier_init.release.cluster", "trap",
        "fence.proxy.tensormap::generic.acquire.gpu [x], 128", "griddepcontrol.wait", "discard.global.L2 [x], 128",
    )),
)  # fmt: skip
WHOLE_LINES = st.one_of(
    st.builds(str.__add__, GUARDS, WHOLE_INSTRUCTIONS),
    st.builds(str.__add__, GUARDS, TYPED_INSTRUCTIONS),
    st.builds("{}bra {}".format, GUARDS, LABELS),
)
SHARED = 4 << 28
WHOLE_VARIABLES = {
    **VARIABLES,
    **{name: Variable(SHARED + 64 * i, 64, "shared") for i, name in enumerate("smn")},
}
OBJECT = 1 << 63 | 1 << 20 | 1
WHOLE_ANSWERS = st.lists(st.sampled_from((0, 1, 2, 3, OBJECT, OBJECT + 1, OBJECT | 1 << 61, 0x3F80_0000)), max_size=12)
DECLARED = ".reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .b16 %h0; .reg .f32 %f<2>; .reg .pred %p<2>; .reg .b128 %q0;\n"


@settings(max_examples=drawn(300), deadline=None)
@given(programs(WHOLE_LINES), WHOLE_ANSWERS, st.integers(1, 3))
def test_exploring_and_running_agree_on_all_of_concurrency(text: str, answers: list[int], unroll: int) -> None:
    initial = {
        "r0": 0,
        "r1": 1,
        "r2": 16,
        "p0": 0,
        "p1": 1,
        "rd0": 64,
        "rd1": OBJECT,
        "rd2": SHARED,
        "f0": 0,
        "f1": 1 << 30,
    }
    initial |= {"h0": 2, "q0": 5}
    special = {"cluster_ctarank": 0, "cluster_nctarank": 2}
    statements = read_statements(DECLARED + "add.cc.u32 %r0, %r0, 0;" + text)
    code = prepare(statements, TYPED, WHOLE_VARIABLES, initial, special=special)
    event(agree(code, answers, unroll))
