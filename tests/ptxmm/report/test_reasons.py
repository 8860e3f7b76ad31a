"""Why nothing orders two events: what is named is what is missing, whatever hands over from thread to thread."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from campaigns import some

import ptxmm

BAR = ".shared .b64 bar = 0; .shared .u32 x = 0;"
CLUSTER = ("cta 0,cluster 0,gpu 0", "cta 1,cluster 0,gpu 0")


def races(memory: str, *threads: str, places: tuple[str, ...] = ("cta 0,gpu 0", "cta 1,gpu 0")) -> list[str]:
    """The reasons of the races of threads."""
    body = "\n".join(f"P{i}@{place} {{ {text} }}" for i, (place, text) in enumerate(zip(places, threads, strict=True)))
    test = ptxmm.parse(f"PTX t\n{{ {memory} }}\n{body}\nforall (true)\n")
    return [race.reason for race in ptxmm.check(test, races=True).races]


def reason(memory: str, *threads: str, places: tuple[str, ...] = ("cta 0,gpu 0", "cta 1,gpu 0")) -> str:
    (found,) = races(memory, *threads, places=places)
    return found


GENERIC = ".global .u32 x = 0; .global .u32 f = 0;"


def test_a_flag_that_was_not_seen_yet_is_named() -> None:
    found = reason(
        GENERIC, "st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1;", "ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x];"
    )
    assert found.endswith("the load of f by P1 at line 4 returned 0, from before the store to f by P0 at line 3, "
                          "so that these did not synchronize")  # fmt: skip


def test_strong_accesses_race_where_their_scopes_do_not_reach() -> None:
    found = reason(GENERIC, "st.relaxed.cta.u32 [x], 1;", "ld.relaxed.gpu.u32 %r0, [x];")
    assert found.endswith("are in no order: the .cta scope of the former does not reach P1")


def test_strong_accesses_of_different_sizes_are_never_morally_strong() -> None:
    found = reason(GENERIC, "st.relaxed.gpu.u16 [x], 1;", "ld.relaxed.gpu.u32 %r0, [x];")
    assert found.endswith("accesses of different sizes are never morally strong, and nothing else orders them")


def test_accesses_through_different_proxies_are_told_of_these() -> None:
    (found,) = races(
        GENERIC,
        "st.weak.u32 [x], 1; bar.sync 0;",
        "bar.sync 0; ld.global.nc.u32 %r0, [x];",
        places=("cta 0", "cta 0"),
    )
    assert "the former goes through the generic proxy and the latter through the texture proxy" in found


def test_of_a_weak_and_a_strong_access_the_weak_one_is_named() -> None:
    found = reason(GENERIC, "st.relaxed.gpu.u32 [x], 1;", "ld.weak.u32 %r0, [x];")
    assert "are in no order: the latter is weak, so that the two are not morally strong" in found


def test_data_that_is_exchanged_weakly_is_no_flag() -> None:
    """Each thread reads what the other one wrote, elsewhere in one array: neither was meant to tell of the other."""
    found = races(
        ".global .u32 x[2];",
        "st.weak.u32 [x], 1; ld.weak.u32 %r0, [x+4];",
        "st.weak.u32 [x+4], 1; ld.weak.u32 %r0, [x];",
    )
    assert len(found) == 2 and all("weak" not in each and "reads nothing that" in each for each in found)


def test_scopes_are_named_where_a_flag_was_not_seen_either() -> None:
    found = races(
        GENERIC, "st.weak.u32 [x], 1; st.release.cta.u32 [f], 1;", "ld.acquire.gpu.u32 %r0, [f]; ld.weak.u32 %r1, [x];"
    )
    assert any("the .cta scope of the store to f by P0 at line 3 does not reach P1" in each for each in found)


@pytest.mark.parametrize(
    ("arrive", "wait", "lack"),
    [
        ("release.cluster", "acquire.cta", "the .cta scope of the wait on bar@cta1 by P1 at line 4 does not reach P0"),
        (
            "release.cta",
            "acquire.cluster",
            "the .cta scope of the arrival on bar@cta1 by P0 at line 3 does not reach P1",
        ),
        ("relaxed.cluster", "acquire.cluster", "the arrival on bar@cta1 by P0 at line 3 has no release semantics"),
        ("release.cluster", "relaxed.cluster", "the wait on bar@cta1 by P1 at line 4 has no acquire semantics"),
    ],
)
def test_what_a_hand_over_by_an_mbarrier_object_lacks_is_named(arrive: str, wait: str, lack: str) -> None:
    found = races(
        ".global .u32 g = 0; .shared .b64 bar = 0;",
        "barrier.cluster.arrive; barrier.cluster.wait; mapa.shared::cluster.u32 %r1, bar, 1; st.weak.global.u32 [g], 1; "
        f"mbarrier.arrive.{arrive}.shared::cluster.b64 _, [%r1];",
        "mbarrier.init.shared.b64 [bar], 1; barrier.cluster.arrive; barrier.cluster.wait; "
        f"L: mbarrier.try_wait.parity.{wait}.shared.b64 %p0, [bar], 0; @!%p0 bra L; ld.weak.global.u32 %r0, [g];",
        places=CLUSTER,
    )
    assert any(each.endswith(lack) for each in found), found


def test_the_completion_that_nobody_waits_for_is_told() -> None:
    copy = "cp.async.ca.shared.global [s], [g], 4; ld.weak.shared.u32 %r0, [s];"
    memory = ".global .u32 g = 7; .shared .u32 s = 0;"
    assert reason(memory, copy, places=("cta 0",)).endswith("nobody waits for the completion of this write")
    late = reason(memory, f"{copy} cp.async.wait_all;", places=("cta 0",))
    assert late.endswith("the completion of the former is waited for by P0 at line 3, only after the latter")


MBARRIER = (
    "mbarrier.init.shared.b64 [bar], 1; bar.sync 0; st.weak.shared.u32 [x], 1; {arrive} [bar];",
    "bar.sync 0; {wait} %p0, [bar], 0; @!%p0 bra END; ld.weak.shared.u32 %r1, [x]; END: ret;",
)


def handed_over(arrive: str, wait: str) -> list[str]:
    first, second = (text.format(arrive=arrive, wait=wait) for text in MBARRIER)
    found = races(BAR, first, second, places=("cta 0", "cta 0"))
    return [text for text in found if "reads nothing" not in text]


@pytest.mark.parametrize(
    ("arrive", "wait", "lacking"),
    [
        ("mbarrier.arrive.relaxed.cta.shared::cta.b64 _,", "mbarrier.test_wait.parity.shared::cta.b64", "no release semantics"),
        ("mbarrier.arrive.shared::cta.b64 _,", "mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64", "no acquire semantics"),
        ("mbarrier.arrive.shared::cta.b64 _,", "mbarrier.test_wait.parity.shared::cta.b64", ""),
    ],
)  # fmt: skip
def test_a_hand_over_through_an_mbarrier_object_names_what_it_lacks(arrive: str, wait: str, lacking: str) -> None:
    found = handed_over(arrive, wait)
    assert bool(found) == bool(lacking)
    assert all(text.endswith(lacking) for text in found)


def test_cluster_barriers_name_what_they_lack() -> None:
    memory = ".global .u32 x = 0;"
    found = reason(
        memory,
        "st.weak.u32 [x], 1; barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
        "barrier.cluster.arrive; barrier.cluster.wait; ld.weak.u32 %r0, [x];",
        places=CLUSTER,
    )
    assert found.endswith("the arrival by P0 at line 3 has no release semantics")


def test_a_proxy_fence_that_is_missing_is_named() -> None:
    memory = ".global .u32 x[4] = {0,0,0,0}; .shared .u32 s[4] = {0,0,0,0};"
    found = reason(
        memory,
        "st.weak.shared.u32 [s], 1; cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16; "
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        places=("cta 0",),
    )
    assert "no fence.proxy.async stands where it would order them" in found


def test_a_completion_publishes_its_operation_only() -> None:
    memory = ".shared .b64 bar = 0; .global .u32 g = 1; .shared .u32 s = 0; .shared .u32 x = 0;"
    found = races(
        memory,
        "mbarrier.init.shared.b64 [bar], 1; bar.sync 0; st.weak.shared.u32 [x], 1; cp.async.ca.shared.global [s], [g], 4; "
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];",
        "bar.sync 0; W: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra W; ld.weak.shared.u32 %r1, [x];",
        places=("cta 0", "cta 0"),
    )
    assert [text.endswith("which publishes that operation, and not what came before it") for text in found] == [True]


def test_aliases_are_told_of() -> None:
    found = reason("x = 0; y @ generic aliases x;", "st.relaxed.gpu.u32 [x], 1;", "ld.relaxed.gpu.u32 %r0, [y];")
    assert found.endswith("through different virtual addresses are never morally strong, and nothing else orders them")


# What is told to be missing is missing: with it, the outcome is gone.

_STORES = ("st.weak.u32 [y], 1", "st.relaxed.cta.u32 [y], 1", "st.relaxed.gpu.u32 [y], 1", "st.release.cta.u32 [y], 1",
           "st.release.gpu.u32 [y], 1")  # fmt: skip
_LOADS = tuple(
    f"ld.{kind}.u32 %r0, [y]" for kind in ("weak", "relaxed.cta", "relaxed.gpu", "acquire.cta", "acquire.gpu")
)
_FENCES = ("", "fence.acq_rel.cta;", "fence.acq_rel.gpu;")
#: What stands before the store and behind the load: each of them, and the same on both sides or not.
_AROUND = (*zip(_FENCES, (*_FENCES[1:], ""), strict=True), ("", ""), (_FENCES[2], _FENCES[2]))


@pytest.mark.part(4)
@pytest.mark.parametrize(("load", "store"), some(3, product(_LOADS, _STORES)))
def test_what_is_named_mends_message_passing(store: str, load: str) -> None:
    """Each culprit is made as strong as can be, and nothing else: then the outcome is forbidden."""
    for before, behind in _AROUND:
        lines = {"store": store, "load": load, "before": before, "behind": behind}
        found = message_passing(lines)
        if found is None:
            continue
        for line in (word for word in ("store", "load", "before", "behind") if f"at {_LINE[word]}" in found):
            lines[line] = _STRONGEST[line]
        assert message_passing(lines) is None, (found, lines)


_LINE = {"before": "line 5", "store": "line 6", "load": "line 9", "behind": "line 10"}
_STRONGEST = {
    "store": "st.release.gpu.u32 [y], 1",
    "load": "ld.acquire.gpu.u32 %r0, [y]",
    "before": "fence.acq_rel.gpu;",
    "behind": "fence.acq_rel.gpu;",
}


def message_passing(lines: dict[str, str]) -> str | None:
    """Why message passing fails, but for what it says of the pair itself; None where it does not fail."""
    text = (
        "PTX t\n{{ x = 0; y = 0; }}\nP0@cta 0,gpu 0 {{\nst.weak.u32 [x], 1;\n{before}\n{store};\n}}\n"
        "P1@cta 1,gpu 0 {{\n{load};\n{behind}\nld.weak.u32 %r1, [x];\n}}\nexists (1:r0 = 1 /\\ 1:r1 = 0)\n"
    ).format(**lines)
    result = ptxmm.check(ptxmm.parse(text), why=True)
    if result.verdict == "no":
        return None
    assert result.why is not None
    told = next(line for line in result.why["text"] if "is not ordered before" in line)
    return str(told.partition(": ")[2])


# What leaves a program without a meaning.


@pytest.mark.parametrize(
    ("memory", "threads", "culprits"),
    [
        ("x = 0;", ("bar.sync 0, 64;", "bar.sync 0, 96;"), ["P0, line 3: bar.sync 0, 64", "P1, line 4: bar.sync 0, 96"]),
        (BAR, ("mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.shared.b64 _, [bar], 2;",),
         ["P0, line 3: mbarrier.arrive.shared.b64 _, [bar], 2"]),
    ],
)  # fmt: skip
def test_what_is_undefined_is_told_with_who_does_it(memory: str, threads: tuple[str, ...], culprits: list[str]) -> None:
    body = "\n".join(f"P{i}@cta 0 {{ {text} }}" for i, text in enumerate(threads))
    result = ptxmm.check(ptxmm.parse(f"PTX t\n{{ {memory} }}\n{body}\nforall (true)\n"))
    assert result.verdict == "undefined"
    assert result.culprits == culprits
    assert result.trouble == f"{result.error} ({'; '.join(result.culprits)})"


def test_what_memory_holds_at_first_is_told_as_nobodys(tmp_path: Path) -> None:
    (tmp_path / "m.cat").write_text("undefined_unless empty rf as known\n", encoding="utf-8")
    test = ptxmm.parse("PTX t\n{ x = 0; }\nP0@cta 0 { ld.weak.u32 %r0, [x]; }\nforall (true)\n")
    result = ptxmm.check(test, model=str(tmp_path / "m.cat"))
    assert result.culprits == ["x = 0, initially", "P0, line 3: ld.weak.u32 %r0, [x]"]


_BETWEEN = ("", "fence.acq_rel.gpu;", "fence.sc.cta;", "fence.sc.gpu;")


@pytest.mark.part(3)
@pytest.mark.parametrize("first", _BETWEEN)
@pytest.mark.parametrize("second", _BETWEEN)
def test_what_is_named_mends_store_buffering(first: str, second: str) -> None:
    fences = {"line 5": first, "line 10": second}
    found = store_buffering(fences)
    if found is None:
        assert (first, second) == (_BETWEEN[3], _BETWEEN[3])
        return
    bare = found.rpartition("none is")[2].replace("before the latter", "before the load at line 11")
    for line, behind in (("line 5", "line 6"), ("line 10", "line 11")):
        if f"at {line}" in found or f"at {behind}" in bare:
            fences[line] = "fence.sc.gpu;"
    assert store_buffering(fences) is None, (found, fences)


def store_buffering(fences: dict[str, str]) -> str | None:
    """Why store buffering shows; None where it does not."""
    text = (
        "PTX t\n{{ x = 0; y = 0; }}\nP0@cta 0,gpu 0 {{\nst.relaxed.gpu.u32 [x], 1;\n{0}\nld.relaxed.gpu.u32 %r0, [y];\n}}\n"
        "P1@cta 1,gpu 0 {{\nst.relaxed.gpu.u32 [y], 1;\n{1}\nld.relaxed.gpu.u32 %r0, [x];\n}}\nexists (0:r0 = 0 /\\ 1:r0 = 0)\n"
    )
    result = ptxmm.check(ptxmm.parse(text.format(fences["line 5"], fences["line 10"])), why=True)
    if result.verdict == "no":
        return None
    assert result.why is not None
    return str(next(line for line in result.why["text"] if "is not ordered before" in line).partition(": ")[2])


def test_of_atomics_through_different_proxies_the_scope_is_told() -> None:
    """Atomic operations in each other's scope are atomic through any proxies: where they are not, the scope is the reason."""
    found = races(
        ".global .align 16 .u32 g[4] = {0,0,0,0}; .shared .align 16 .u32 d[4] = {1,1,1,1};",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g], [d], 16; cp.async.bulk.commit_group; "
        "cp.async.bulk.wait_group 0;",
        "atom.relaxed.cta.global.add.u32 %r0, [g], 1;",
    )
    assert [text.endswith("are in no order: the .cta scope of the latter does not reach P0") for text in found] == [
        True
    ]
