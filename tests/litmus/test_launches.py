"""Kernels and commands of the host are checked against each other, each mistake at its place."""

from __future__ import annotations

import pytest

from litmus.formats import read
from litmus.launches import checked
from ptxcore.diagnostics import InputError

TWO = "kernel k1 = [P0]; kernel k2 = [P1];"


def text_of(declarations: str, head: str = "P0 | P1 | P2@host", *host: str) -> str:
    rows = [f"st.weak x, 1 | ld.weak r0, x | {host[0] if host else ''} ;", *(f" | | {line} ;" for line in host[1:])]
    return "\n".join(["PTX t", f"{{ x=0; {declarations} }}", f"{head} ;", *rows, "exists (true)"])


def test_kernels_that_can_run_as_written_pass() -> None:
    checked(read(text_of(TWO, "P0 | P1 | P2@host", "launch k1", "launch k2", "sync k1", "sync stream 0")))
    checked(read(text_of("")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (text_of("kernel k1 = [P0];"), "P1 belongs to no kernel"),
        (text_of("kernel k = [P0,P1];", "P0@gpu 0 | P1@gpu 1 | P2@host"), "kernel 'k' has threads on several GPUs"),
        (text_of(TWO, "P0 | P1 | P2@host", "launch k3"), "kernel 'k3' is not declared"),
        (text_of(TWO, "P0 | P1 | P2@host", "sync k"), "kernel 'k' is not declared"),
        (text_of(TWO, "P0 | P1 | P2@host", "sync stream 7"), "no kernel runs in stream 7"),
        (text_of("", "P0 | P1 | P2@host", "sync stream 0"), "no kernel runs in stream 0"),
        (text_of(TWO, "P0 | P1 | P2@host", "launch k1", "launch k1"), "kernel 'k1' is launched a second time"),
        (
            text_of(TWO, "P0 | P1 | P2@host", "launch k2", "launch k1"),
            "'k2' runs after 'k1', but is launched before it",
        ),
        (
            text_of(
                "kernel k1 = [P0]; kernel k2 = [P1] stream 1 after k1;", "P0 | P1 | P2@host", "launch k2", "launch k1"
            ),
            "'k2' runs after 'k1', but is launched before it",
        ),
    ],
)
def test_what_no_program_can_run_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        checked(read(text))
    assert message in str(error.value.render())


def test_streams_are_independent_of_each_other() -> None:
    streams = "kernel k1 = [P0]; kernel k2 = [P1] stream 1;"
    checked(read(text_of(streams, "P0 | P1 | P2@host", "launch k2", "launch k1")))


@pytest.mark.parametrize(
    "places", ["P0@cta 0 | P1@cta 0 | P2@host", "P0@cta 0,cluster 5 | P1@cta 0,cluster 5 | P2@host"]
)
def test_each_kernel_has_ctas_of_its_own(places: str) -> None:
    first, second, _ = checked(read(text_of(TWO, places))).threads
    assert first.place.cta != second.place.cta
    assert first.place.cluster != second.place.cluster


def test_threads_of_one_kernel_keep_what_they_share() -> None:
    test = read(text_of("kernel k1 = [P0,P1]; kernel k2 = [P2];", "P0@cta 3 | P1@cta 3 | P2@cta 3"))
    first, second, third = checked(test).threads
    assert first.place.cta == second.place.cta == 3 != third.place.cta
