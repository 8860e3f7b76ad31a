"""Publications: whoever wins a claim prepares something that all others wait for. One run beside the formula, each condition
with a kernel that is wrong and would be taken for right without it, and launches at their size."""

from __future__ import annotations

from typing import Any

import pytest
from by_runs import by_formula, by_runs
from campaigns import lengths, share
from generated_publications import publishing_kernel
from ticketed_kernels import by_tickets, compare_up_to_tickets, ticketed_kernel

from axioms.dynamic.tickets import errands, imagined, publications, tickets
from axioms.dynamic.tickets.publications import Heard
from ptxmm.kernels.test import KernelTest


@pytest.mark.compares(0.08)
@pytest.mark.parametrize("seeds", lengths(range(8), range(100)))
def test_what_is_said_up_to_publications_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_tickets(publishing_kernel, seeds, monkeypatch)


@pytest.mark.campaign
@pytest.mark.compares(0.08)
def test_what_is_said_up_to_publications_of_many_kernels_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_up_to_tickets(publishing_kernel, range(1000, 1000 + share(20000)), monkeypatch)


def _none(*_: Any, **__: Any) -> None:
    return None


def _true(*_: Any, **__: Any) -> bool:
    return True


def _puts_four(write: Any, *_: Any) -> bool:
    return bool(write(0)[0] == 4)


def _once(
    init: str = "st.global.u32 [%rd1], 7;",
    release: str = "fence.acq_rel.gpu;",
    publish: str = "st.relaxed.gpu.global.u32 [%rd3], 2;",
    look: str = "ld.acquire.gpu.global.u32 %r6, [%rd3];",
    until: str = "setp.ne.u32 %p4, %r6, 2;",
    then: str = "",
    use: str = "ld.global.u32 %r7, [%rd1]; st.global.u32 [%rd5+32], %r7;",
    claim: str = "atom.global.cas.b32 %t0, [%rd3], 0, 1;",
    also: str = "",
) -> str:
    return (
        f"{claim} setp.ne.u32 %p3, %t0, 0; @%p3 bra LOST; {init} {release} {publish} {also} bra BOTH; "
        f"LOST: {look} {until} @%p4 bra LOST; {then} BOTH: {use}"
    )


#: A word that another thread waits for.
_HAND_ON = (
    "@!%p1 bra NEXT; st.relaxed.gpu.global.u32 [%rd3+4], 5; bra END; NEXT: ld.acquire.gpu.global.u32 %r6, [%rd3+4]; "
    "setp.ne.u32 %p4, %r6, 5; @%p4 bra NEXT; ld.global.u32 %r7, [%rd1+44];"
)
_CHECK = publications.check_publications
_Condition = tuple[Any, str, Any]
#: Kernels that are wrong: what they do, the number of CTAs, and the condition without which they would be taken for right.
_WRONG: dict[str, tuple[str, int, tuple[_Condition, ...]]] = {
    "who wins releases nothing": (_once(release=""), 2, ((errands, "released_before", lambda *_: 9),)),
    "in too narrow a scope": (_once(release="fence.acq_rel.cta;"), 2, ((publications, "is_wide", _true),)),
    "it releases what comes before": (
        _once(init="", also="st.global.u32 [%rd1], 7;"), 2, ((errands, "released_before", lambda *_: 9),),
    ),
    "who waits acquires nothing": (
        _once(look="ld.relaxed.gpu.global.u32 %r6, [%rd3];"), 2,
        ((tickets, "learned", lambda *_: Heard.KNOWN), (errands, "learned", lambda *_: Heard.KNOWN)),
    ),
    "in too narrow a scope behind it": (
        _once(look="ld.relaxed.gpu.global.u32 %r6, [%rd3];", then="fence.acq_rel.cta;"), 2, ((publications, "is_wide", _true),),
    ),
    "it acquires only what it found late": (
        _once(
            look="setp.eq.u32 %p5, %t0, 2; @%p5 bra LATE; LOOK: ld.relaxed.gpu.global.u32 %r6, [%rd3];",
            then="bra BOTH; LATE: fence.acq_rel.gpu;",
            claim="@%p1 bra GO; PRE: ld.relaxed.gpu.global.u32 %r6, [%rd3+4]; setp.ne.u32 %p4, %r6, 5; @%p4 bra PRE; "
            "GO: atom.global.cas.b32 %t0, [%rd3], 0, 1;",
            use="@%p1 st.relaxed.gpu.global.u32 [%rd3+4], 5; @%p1 bra END; ld.global.u32 %r7, [%rd1];",
        ).replace("@%p4 bra LOST", "@%p4 bra LOOK"), 2,
        ((imagined, "check_publications", lambda gone, rest, claims, _: _CHECK(gone, rest, claims, {})),),
    ),
    "it waits for too little": (
        _once(until="setp.eq.u32 %p4, %r6, 0;"), 2,
        ((errands, "leading", lambda *_: lambda value: 1 if value == 2 else None),),
    ),
    "who does not claim waits for too little": (
        f"@!%p1 bra WAIT; {_once(use='')} bra USE; WAIT: ld.acquire.gpu.global.u32 %r6, [%rd3]; setp.eq.u32 %p4, %r6, 1; "
        "@%p4 bra WAIT; USE: ld.global.u32 %r7, [%rd1]; st.global.u32 [%rd5+32], %r7;", 2,
        ((publications, "_check_polls", _none),),
    ),
    "who looks changes what it looks at": (
        _once(look="atom.acquire.gpu.global.or.b32 %r6, [%rd3], 4;", publish="red.relaxed.gpu.global.add.u32 [%rd3], 1;"), 2,
        ((tickets, "keeps", _puts_four), (errands, "keeps", _puts_four)),
    ),
    "what winners prepare is no constant": (
        _once(init="st.global.u32 [%rd1], %r5;"), 2, ((imagined, "_wrote", lambda *_: ()),),
    ),
    "one who wins tells nobody": (
        _once(init="setp.eq.u32 %p5, %r4, 1; @%p5 bra BOTH;", use=""), 2, ((publications, "_is_published", _true),),
    ),
    "who wins hands on more by its fence": (
        _once(use=_HAND_ON).replace("atom.", "@%p1 st.global.u32 [%rd1+44], 1; atom.", 1), 2,
        ((tickets.Tickets, "_in_errand", lambda *_: False),),
    ),
    "what only winners do is done once more": (
        "mov.u32 %r8, 0; setp.eq.u32 %p5, %r8, 1; AGAIN: @%p5 bra IN; atom.global.cas.b32 %t0, [%rd3], 0, 1; "
        "setp.ne.u32 %p3, %t0, 0; @%p3 bra BOTH; IN: mul.wide.u32 %rd2, %r8, 16; add.u64 %rd2, %rd2, %rd1; "
        "st.global.u32 [%rd2], 7; BOTH: add.u32 %r8, %r8, 1; "
        "setp.eq.u32 %p5, %r8, 1; @%p5 bra AGAIN;", 2, ((imagined._Imagined, "_check_rest", _none),),
    ),
    "the flag is set back while others publish": (
        "atom.global.cas.b32 %t0, [%rd3], 0, 1; fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd3+4], 1; "
        "setp.ne.u32 %p3, %t0, 0; @%p3 bra LOST; st.relaxed.gpu.global.u32 [%rd3], 2; LOST: @!%p1 bra END; "
        "WAIT: ld.acquire.gpu.global.u32 %r6, [%rd3+4]; setp.ne.u32 %p4, %r6, 2; @%p4 bra WAIT; st.global.u32 [%rd3], 0;", 2,
        ((imagined._Imagined, "_check_claimed", _none),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_each_condition_leaves_open_what_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, grid, conditions = _WRONG[name]
    test = ticketed_kernel(body, grid=grid, start=(0, 0))
    assert by_tickets(test) is None
    with monkeypatch.context() as without:
        for place, condition, none in conditions:
            without.setattr(place, condition, none)
        assert by_tickets(test) is not None
    expected = by_formula(test, monkeypatch)
    assert expected.verdict in ("no", "undefined") or len(expected.states) > 1


def _wide(body: str) -> KernelTest:
    """A launch of 256 threads, each of which uses what one has prepared."""
    return ticketed_kernel(body, grid=2, block=128, words=300, start=(0, 0), forall="x[8] == 10 && x[263] == 10")


_READ = "ld.global.u32 %r7, [%rd1]; st.global.u32 [%rd5+32], %r7;"
_TEN = "st.global.u32 [%rd1], 10;"
#: Right at the size at which people launch them.
_RIGHT = {
    "acquire and release": _once(init=_TEN, release="", publish="st.release.gpu.global.u32 [%rd3], 2;"),
    "fences": _once(
        init=_TEN, publish="atom.global.exch.b32 %r10, [%rd3], 2;", look="ld.volatile.global.u32 %r6, [%rd3];",
        then="fence.acq_rel.gpu;",
    ),
    "an atomic look": _once(
        init=_TEN, look="mov.u32 %r6, %t0; bra TRY; LOOK: atom.global.add.u32 %r6, [%rd3], 0; TRY:",
        use=f"fence.acq_rel.gpu; {_READ}",
    ).replace("@%p4 bra LOST", "@%p4 bra LOOK"),
    "all wait": (
        f"atom.global.cas.b32 %t0, [%rd3], 0, 1; setp.ne.u32 %p3, %t0, 0; @%p3 bra LOST; {_TEN} fence.acq_rel.gpu; "
        "st.relaxed.gpu.global.u32 [%rd3], 2; LOST: ld.acquire.gpu.global.u32 %r6, [%rd3]; setp.ne.u32 %p4, %r6, 2; "
        f"@%p4 bra LOST; {_READ}"
    ),
    "one of each CTA waits": (
        f"@!%p2 bra MEET; {_once(init=_TEN, use='')} MEET: bar.sync 0; {_READ}"
    ),
}  # fmt: skip
#: The same with a mistake.
_MISTAKES = {
    "a relaxed publication": _once(init=_TEN, release=""),
    "a publication of the wrong scope": _once(init=_TEN, release="", publish="st.release.cta.global.u32 [%rd3], 2;"),
    "a publication before what it tells of": _once(init="", also=_TEN),
    "a relaxed wait": _once(init=_TEN, look="ld.relaxed.gpu.global.u32 %r6, [%rd3];"),
    "a wait that ends early": _once(init=_TEN, until="setp.eq.u32 %p4, %r6, 0;"),
    "a wait for another value": _once(init=_TEN, until="setp.ne.u32 %p4, %r6, 3;"),
    "a second phase with the same flag": (
        f"{_once(init=_TEN)} bar.sync 0; " + _once(init="st.global.u32 [%rd1+4], 10;").replace("LOST", "LOST2").replace(
            "BOTH", "BOTH2").replace("[%rd1];", "[%rd1+4];")
    ),
}  # fmt: skip


@pytest.mark.part(5)
@pytest.mark.parametrize("name", _RIGHT)
def test_what_one_prepares_and_all_wait_for_is_decided_at_its_size(name: str) -> None:
    found = by_tickets(_wide(_RIGHT[name]))
    assert found is not None
    assert not found.differing
    assert found.state == {"x[8]": 10, "x[263]": 10}


@pytest.mark.long
@pytest.mark.parametrize("name", _MISTAKES)
def test_mistakes_with_it_are_found_at_its_size(name: str) -> None:
    test = _wide(_MISTAKES[name])
    assert by_tickets(test) is None
    assert by_runs(test)[1].verdict == "no"
