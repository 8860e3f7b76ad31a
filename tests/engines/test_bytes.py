"""Memory in bytes: accesses of every size to the same bytes, vectors, aliases, reads that are torn."""

from __future__ import annotations

import pytest
from agreement import STEPS, deadline, either
from campaigns import drawn, share
from generated_sizes import mixed_sizes
from hypothesis import HealthCheck, given, settings

import ptxmm
from axioms.engine import decide
from axioms.models import load
from axioms.program import Program, cut_at
from axioms.witness.result import Decision
from axioms.witness.tearing import torn_at
from litmus.formats import read
from ptxmm.pipeline import build
from ptxmm.result import Result

ENGINES = pytest.mark.parametrize("engine", ["solve", "enumerate"])
QUICK = settings(max_examples=drawn(12), deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=share(1500), deadline=None, suppress_health_check=list(HealthCheck))


def checked(text: str, engine: str, model: str = "ptx-9.0", options: tuple[str, ...] = ()) -> Result:
    return ptxmm.check(ptxmm.parse(f"PTX bytes\n{text}"), model, engine=engine, options=options)


def states(result: Result) -> set[tuple[int, ...]]:
    assert result.error is None, result.error
    return {tuple(s.values()) for s in result.states}


def decided(program: Program, engine: str = "solve") -> Decision:
    return decide(program, load("ptx-9.0"), engine=engine, steps=STEPS, deadline=deadline(), max_states=10_000)


def same(a: Decision, b: Decision | None) -> bool:
    """Whether they are, or one of them is not known."""
    if b is None:
        return True
    return a.states == b.states and (a.undefined is None) == (b.undefined is None)


# Sizes.


@ENGINES
def test_a_wide_read_is_put_together_from_narrow_writes(engine: str) -> None:
    result = checked(
        "{ .u64 x = 0; }\nP0@cta 0 { st.weak.u32 [x], 0x01020304; st.weak.u8 [x+7], 9; ld.weak.u64 %rd0, [x]; "
        "ld.weak.u16 %rs0, [x+2]; }\nlocations [0:%rd0; 0:%rs0; x; x.u8[3];]\nexists (true)",
        engine,
    )
    whole = 9 << 56 | 0x01020304
    assert states(result) == {(whole, 0x0102, whole, 1)}


@ENGINES
def test_the_last_of_overlapping_writes_of_a_thread_stays(engine: str) -> None:
    result = checked(
        "{ .u8 b[4] = {1, 2, 3, 4}; }\nP0@cta 0 { st.weak.u32 [b], 0; st.weak.u16 [b+2], 0x0506; st.weak.u8 [b+2], 7; }\n"
        "locations [b[0]; b[2]; b[3]; b.u16[1]; b.u32[0];]\nexists (true)",
        engine,
    )
    assert result.states == [{"b[0]": 0, "b[2]": 7, "b[3]": 5, "b.u16[1]": 0x0507, "b.u32[0]": 0x05070000}]


@ENGINES
def test_a_flag_may_be_a_byte_of_what_it_guards(engine: str) -> None:
    result = checked(
        "{ .u64 x = 0; }\nP0@cta 0 { st.weak.u32 [x], 42; st.release.gpu.u8 [x+7], 1; }\n"
        "P1@cta 1 { .reg .pred p; ld.acquire.gpu.u8 %rs0, [x+7]; setp.eq.u16 p, %rs0, 1; mov.u32 %r0, 42; "
        "@p ld.weak.u32 %r0, [x]; }\nforall (1:%r0 = 42)",
        engine,
    )
    assert (result.verdict, result.error) == ("ok", None)


@ENGINES
def test_a_compare_and_swap_of_128_bits_is_one_operation(engine: str) -> None:
    result = checked(
        "{ .align 16 .u64 x[2] = {1, 2}; }\n"
        "P0@cta 0 { .reg .b128 c, n, o; .reg .b64 a, b; mov.u64 a, 1; mov.u64 b, 2; mov.b128 c, {a, b}; mov.u64 a, 3; "
        "mov.b128 n, {a, a}; atom.relaxed.gpu.cas.b128 o, [x], c, n; }\n"
        "P1@cta 1 { .reg .b128 q; ld.relaxed.gpu.b128 q, [x]; mov.b128 {%rd0, %rd1}, q; }\n"
        "locations [1:%rd0; 1:%rd1; x[0]; x[1];]\nexists (true)",
        engine,
    )
    assert states(result) == {(1, 2, 3, 3), (3, 3, 3, 3)}


@ENGINES
def test_elements_of_a_vector_may_be_seen_one_without_the_other(engine: str) -> None:
    result = checked(
        "{ .align 8 .u32 x[2]; }\nP0@cta 0 { mov.u32 %r0, 1; st.relaxed.gpu.v2.u32 [x], {%r0, %r0}; }\n"
        "P1@cta 1 { ld.relaxed.gpu.v2.u32 {%r0, %r1}, [x]; }\nlocations [1:%r0; 1:%r1;]\nexists (true)",
        engine,
    )
    assert states(result) == {(0, 0), (0, 1), (1, 0), (1, 1)}


@ENGINES
def test_elements_that_a_vector_leaves_out_are_not_accessed(engine: str) -> None:
    result = checked(
        "{ .align 8 .u32 x[2] = {5, 6}; }\nP0@cta 0 { ld.weak.v2.u32 {_, %r1}, [x]; }\n"
        "P1@cta 1 { st.weak.u32 [x], 1; }\nlocations [0:%r1; x[0]; x[1];]\nexists (true)",
        engine,
    )
    assert states(result) == {(6, 1, 6)}


# Addresses.


@ENGINES
@pytest.mark.parametrize("sign", ["u", "s"])
def test_an_index_that_was_read_goes_to_the_elements_that_it_can(engine: str, sign: str) -> None:
    result = checked(
        "{ .u32 a[1000]; i = 0; }\nP0@cta 0 { st.relaxed.gpu.u32 [i], 700; }\n"
        f"P1@cta 1 {{ .reg .b64 p, q; ld.relaxed.gpu.{sign}32 %r0, [i]; mov.u64 p, a; mad.wide.{sign}32 q, %r0, 4, p; "
        "st.weak.u32 [q], 9; }\nlocations [a[0]; a[700];]\nexists (true)",
        engine,
    )
    assert states(result) == {(9, 0), (0, 9)}


@ENGINES
def test_an_index_beyond_the_end_leaves_a_program_undefined(engine: str) -> None:
    result = checked(
        "{ .u32 a[4]; i = 0; }\nP0@cta 0 { st.relaxed.gpu.u32 [i], 4; }\n"
        "P1@cta 1 { .reg .b64 p, q; ld.relaxed.gpu.u32 %r0, [i]; mov.u64 p, a; mad.wide.u32 q, %r0, 4, p; "
        "st.weak.u32 [q], 9; }\nexists (true)",
        engine,
    )
    assert (result.verdict, result.error) == ("undefined", "an access to memory that belongs to no location")


BEYOND = "an access to memory that belongs to no location"
#: The address as a constant, what is said of the place, and the address as a value that was read.
OUTSIDE = {
    "longer": ("ld.weak.u64 %rd1, [x];", "8 bytes at x, and x has 4 bytes", "ld.weak.u64 %rd1, [q];"),
    "behind": ("st.weak.u32 [x+8], 1;", "4 bytes at x+8, and x has 4 bytes", "st.weak.u32 [q+8], 1;"),
    "before": ("ld.weak.u32 %r1, [x+-4];", "4 bytes at x-4, before its first byte", "ld.weak.u32 %r1, [q+-4];"),
    "nowhere": ("mov.u64 p, 16; ld.weak.u32 %r1, [p];", "4 bytes at address 0x10, where nothing is near",
                "ld.weak.u32 %r1, [p];"),
    "atomic": ("red.relaxed.gpu.add.u32 [x+4], 1;", "4 bytes at x+4, and x has 4 bytes", "red.relaxed.gpu.add.u32 [q+4], 1;"),
}  # fmt: skip


@ENGINES
@pytest.mark.parametrize("name", OUTSIDE)
def test_an_access_outside_of_memory_means_the_same_however_its_address_comes_about(engine: str, name: str) -> None:
    constant, place, value = OUTSIDE[name]
    start = "PTX t\n{ x = 0; i = 16; }\nP0@cta 0 { .reg .b64 p, q; "
    known = ptxmm.check(ptxmm.parse(f"{start}{constant} }}\nexists (true)"), engine=engine)
    computed = "ld.weak.u32 %r0, [i]; cvt.u64.u32 p, %r0; sub.u64 q, p, 16; mov.u64 p, x; add.u64 q, q, p; "
    computed += f"cvt.u64.u32 p, %r0; {value}"
    unknown = ptxmm.check(ptxmm.parse(f"{start}{computed} }}\nexists (true)"), engine=engine)
    assert (known.verdict, known.error) == ("undefined", f"{BEYOND}: {place}")
    assert (unknown.verdict, unknown.error) == ("undefined", BEYOND)


def test_what_brute_force_cannot_do_stays_undecided() -> None:
    result = checked(
        "{ .global .align 128 .u32 x[32]; }\nP0@cta 0 { discard.global.L2 [x], 128; ld.weak.u32 %r1, [x]; }\n"
        "exists (0:r1 != 2)",
        "enumerate",
    )
    assert result.verdict == "undecided" and "for brute force" in str(result.error)


@ENGINES
@pytest.mark.parametrize(
    "access",
    ["ld.weak.u32 %r0, [x+2];", "ld.weak.v2.u32 {%r0, %r1}, [x+4];", "ld.weak.v2.u32 {_, %r1}, [x+4];"],
)
def test_an_address_that_is_no_multiple_of_the_size_leaves_a_program_undefined(engine: str, access: str) -> None:
    result = checked(f"{{ .u32 x[4]; }}\nP0@cta 0 {{ {access} }}\nexists (true)", engine)
    assert (result.verdict, result.error) == ("undefined", "an access at an address that is no multiple of its size")


@ENGINES
def test_a_declared_alignment_is_all_that_is_certain_of_an_address(engine: str) -> None:
    for align, verdict in ((4, "undefined"), (8, "ok")):
        result = checked(
            f"{{ .align {align} .u8 b[16]; }}\nP0@cta 0 {{ ld.weak.u64 %rd0, [b]; }}\nexists (true)", engine
        )
        assert result.verdict == verdict


@ENGINES
def test_a_pointer_of_which_one_half_is_rewritten_points_elsewhere(engine: str) -> None:
    result = checked(
        "{ .u64 p = &x; x = 1; y = 2; }\nP0@cta 0 { .reg .b64 a; .reg .b32 low; mov.u64 a, y; cvt.u32.u64 low, a; "
        "st.weak.u32 [p], low; ld.weak.u64 a, [p]; ld.weak.u32 %r0, [a]; }\nlocations [0:%r0;]\nexists (true)",
        engine,
    )
    assert states(result) == {(2,)}


@ENGINES
def test_an_alias_shares_bytes_and_not_the_address(engine: str) -> None:
    for fence, found in (("", {(1,), (0,)}), ("fence.proxy.alias;", {(1,)})):
        result = checked(
            f"{{ .u32 x = 0; y@generic aliases x; }}\nP0@cta 0 {{ st.weak.u8 [x+1], 1; {fence} ld.weak.u8 %rs0, [y+1]; }}\n"
            "locations [0:%rs0;]\nexists (true)",
            engine,
        )
        assert states(result) == found


@ENGINES
def test_shared_memory_that_only_another_cta_names_has_its_initial_values(engine: str) -> None:
    result = checked(
        "{ .shared .u32 x = 5; }\nP0@cta 0,cluster 0 { .reg .b32 a, b; mov.u32 a, x; mapa.shared::cluster.u32 b, a, 1; "
        "ld.weak.shared::cluster.u32 %r0, [b]; }\nP1@cta 1,cluster 0 { mov.u32 %r0, 0; }\nlocations [0:%r0;]\nexists (true)",
        engine,
    )
    assert states(result) == {(5,)}


@ENGINES
def test_shared_memory_of_another_cta_of_the_cluster_is_reached_by_its_address(engine: str) -> None:
    result = checked(
        "{ .shared .u32 x = 0; }\nP0@cta 0,cluster 0 { .reg .b32 a, b; mov.u32 a, x; mapa.shared::cluster.u32 b, a, 1; "
        "st.weak.shared::cluster.u32 [b], 1; ld.weak.shared.u32 %r0, [x]; barrier.cluster.arrive; barrier.cluster.wait; }\n"
        "P1@cta 1,cluster 0 { barrier.cluster.arrive; barrier.cluster.wait; ld.weak.shared.u32 %r0, [x]; }\n"
        "locations [0:%r0; 1:%r0;]\nexists (true)",
        engine,
    )
    assert states(result) == {(0, 1)}


# Torn reads.

TORN = (
    "{{ .u32 x = 0; }}\nP0@cta 0 {{ st.{0}.u32 [x], 0x01020304; }}\n"
    "P1@cta 1 {{ ld.{0}.u32 %r0, [x]; }}\nlocations [1:%r0;]\nexists (true)"
)


@ENGINES
def test_bytes_of_a_weak_read_come_from_where_they_like(engine: str) -> None:
    assert len(states(checked(TORN.format("weak"), engine))) == 16
    assert states(checked(TORN.format("relaxed.gpu"), engine)) == {(0,), (0x01020304,)}
    assert states(checked(TORN.format("weak"), engine, options=("no-tearing",))) == {(0,), (0x01020304,)}


@ENGINES
def test_models_of_words_tear_nothing(engine: str) -> None:
    for model in ("ptx-6.0", "ptx-7.5"):
        assert states(checked(TORN.format("weak"), engine, model)) == {(0,), (0x01020304,)}


@ENGINES
def test_who_looks_at_bytes_of_a_word_in_the_end_tears_no_read_of_it(engine: str) -> None:
    text = TORN.format("weak").replace("locations [", "locations [x.u8[1]; ")
    assert states(checked(text, engine, "ptx-7.5")) == {(0, 3), (0x01020304, 3)}
    assert len(states(checked(text, engine))) == 16


@ENGINES
def test_in_models_of_words_reads_mix_no_writes_of_their_size(engine: str) -> None:
    text = TORN.format("weak").replace("P1@cta 1 {", "P1@cta 1 { ld.weak.u16 %rs0, [x];")
    for model in ("ptx-6.0", "ptx-7.5"):
        assert states(checked(text, engine, model)) == {(0,), (0x01020304,)}


@ENGINES
def test_what_memory_holds_in_the_end_is_settled_byte_by_byte(engine: str) -> None:
    text = (
        "{{ .u16 x = 0; }}\nP0@cta 0 {{ st.{0}.u16 [x], 0x0101; }}\nP1@cta 1 {{ st.{0}.u16 [x], 0x0202; }}\n"
        "locations [x;]\nexists (true)"
    )
    assert states(checked(text.format("weak"), engine)) == {(0x0101,), (0x0202,), (0x0102,), (0x0201,)}
    assert states(checked(text.format("relaxed.gpu"), engine)) == {(0x0101,), (0x0202,)}


@ENGINES
def test_without_tearing_a_read_takes_one_of_the_writes_of_its_size(engine: str) -> None:
    text = (
        "{ .u32 x = 0; }\nP0@cta 0 { st.weak.u32 [x], 0x00010001; ld.weak.u16 %rs0, [x]; }\n"
        "P1@cta 1 { ld.weak.u32 %r0, [x]; }\nlocations [1:%r0;]\nexists (true)"
    )
    # The read of one half makes halves of the word; who reads it as a whole finds it whole.
    assert states(checked(text, engine, options=("no-tearing",))) == {(0,), (0x00010001,)}
    assert len(states(checked(text, engine))) == 4


def test_what_nobody_could_see_torn_is_not_cut() -> None:
    for value, cut in (("7", 0), ("0x700", 0), ("0x701", 1), ("0x01000001", 1), ("0x010101", 2)):
        threads = f"P0@cta 0 {{ st.weak.u32 [x], {value}; }}\nP1@cta 1 {{ ld.weak.u32 %r0, [x]; }}"
        assert len(torn_at(build(read(f"PTX cut\n{{ x = 0; }}\n{threads}\nexists (true)")))) == cut


def test_copies_are_cut_where_what_they_may_carry_differs() -> None:
    for value, cut in (("7", 0), ("0x700", 0), ("0x701", 2), ("0x010101", 4)):
        thread = f"P0@cta 0 {{ st.weak.u32 [x], {value}; cp.async.ca.shared.global [s], [x], 4; ld.weak.shared.u32 %r0, [s]; }}"
        text = f"PTX cut\n{{ x = 0; .shared .u32 s; }}\n{thread}\nP1@cta 1 {{ ld.weak.u32 %r0, [x]; }}\nexists (true)"
        assert len(torn_at(build(read(text)))) == cut


# Against each other.


@pytest.mark.long
@pytest.mark.compares(0.6)
@QUICK
@given(mixed_sizes(3))
def test_engines_agree_on_accesses_of_many_sizes(text: str) -> None:
    program = build(read(text))
    assert same(decided(program), either(lambda: decided(program, "enumerate"))), text


@pytest.mark.compares(0.9)
@settings(QUICK, max_examples=drawn(5))
@given(mixed_sizes(4))
def test_cutting_everything_shows_nothing_more(text: str) -> None:
    program = build(read(text))
    bytes_ = cut_at(program, ((c.object, c.offset + i) for c in program.cells for i in range(1, c.size)))
    assert same(decided(program), either(lambda: decided(bytes_))), text


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@LONG
@given(mixed_sizes(4))
def test_engines_agree_on_accesses_of_many_sizes_at_length(text: str) -> None:
    program = build(read(text))
    assert same(decided(program), either(lambda: decided(program, "enumerate"))), text


@pytest.mark.campaign
@pytest.mark.compares(0.5)
@LONG
@given(mixed_sizes(5))
def test_cutting_everything_shows_nothing_more_at_length(text: str) -> None:
    program = build(read(text))
    bytes_ = cut_at(program, ((c.object, c.offset + i) for c in program.cells for i in range(1, c.size)))
    assert same(decided(program), either(lambda: decided(bytes_))), text


def test_a_generic_address_tells_its_space() -> None:
    """Addresses of every space, in the address space of litmus tests."""
    asked = "".join(
        f"mov.u64 %rd0, {name}; isspacep.{space} p, %rd0; selp.u32 %r{2 * i + j}, 1, 0, p; "
        for i, name in enumerate(("g", "s"))
        for j, space in enumerate(("global", "shared"))
    )
    text = f"PTX t\n{{ .global .u32 g; .shared .u32 s; }}\nP0@cta 0 {{ .reg .pred p; {asked} }}\nexists (true)\n"
    for options in ((), ("mapa-alias",)):
        (state,) = ptxmm.check(ptxmm.parse(text), all_registers=True, options=options).states
        assert [state[f"0:r{i}"] for i in range(4)] == [1, 0, 0, 1]
