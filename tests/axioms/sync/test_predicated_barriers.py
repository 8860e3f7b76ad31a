"""A predicate decides as a branch does whether a thread comes to where others wait for it."""

from __future__ import annotations

import pytest

import ptxmm

#: What one thread does where it comes, and the other one always does; and what keeps them in one warp, if anything does.
MEETINGS = {
    "bar": (["bar.sync 0;"], ""),
    "barrier": (["barrier.sync 0;"], ""),
    "count": (["barrier.sync 1, 64;"], ""),
    "red": (["bar.red.or.pred q, 0, q;"], ""),
    "cluster": (["barrier.cluster.arrive;", "barrier.cluster.wait;"], ""),
    "warp": (["bar.warp.sync 3;"], "warp 0,"),
    "vote": (["vote.sync.any.pred q, q, 3;"], "warp 0,"),
    "shuffle": (["shfl.sync.bfly.b32 %r2, %r1, 1, 31, 3;"], "warp 0,"),
}
#: What the other one does behind: to read it before would be to come there for a reason that is not there yet.
BEHIND = {"store": "st.relaxed.gpu.u32 [x], 1;", "exchange": "atom.relaxed.gpu.exch.b32 %r3, [x], 1;"}


def texts(kind: str, behind: str, negated: str) -> tuple[str, str]:
    """One test with predicates, and one with a branch."""
    steps, warp = MEETINGS[kind]
    guarded = " ".join(f"@{negated}p {step}" for step in steps)
    other = "" if negated else "!"
    branched = f"@{other}p bra E; {' '.join(steps)} E: mov.u32 %r4, 1;"

    def text(middle: str) -> str:
        first = f"setp.ne.u32 q, 0, 1; mov.u32 %r1, 5; ld.relaxed.gpu.u32 %r0, [x]; setp.eq.u32 p, %r0, 0; {middle}"
        second = f"setp.ne.u32 q, 0, 1; mov.u32 %r1, 6; {' '.join(steps)} {BEHIND[behind]}"
        threads = (
            f"P{i}@{warp}cta 0 {{ .reg .pred p; .reg .pred q; {body} }}" for i, body in enumerate((first, second))
        )
        return "PTX predicated\n{ x = 0; }\n" + "\n".join(threads) + "\nexists (0:r0 = 1)\n"

    return text(guarded), text(branched)


@pytest.mark.part(2)
@pytest.mark.parametrize("kind", MEETINGS)
def test_a_predicate_answers_as_a_branch(kind: str) -> None:
    compared = 0
    for behind in BEHIND:
        for negated in ("", "!"):
            answers = []
            for text in texts(kind, behind, negated):
                for engine in ("solve", "enumerate"):
                    result = ptxmm.check(ptxmm.parse(text), engine=engine, checks=["terminates"])
                    answers.append((result.verdict, result.states, [c.holds for c in result.checks]))
            assert answers == [answers[0]] * 4, (behind, negated)
            compared += 1
    assert compared == 4


@pytest.mark.parametrize("kind", ["bar", "warp", "cluster"])
def test_nobody_passes_by_for_what_is_written_behind(kind: str) -> None:
    for text in texts(kind, "store", ""):
        assert ptxmm.check(ptxmm.parse(text)).verdict == "no"
