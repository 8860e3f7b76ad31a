"""Kernels and commands of the host are checked against each other, each mistake at its place."""

from __future__ import annotations

import pytest

from litmus.formats import read
from litmus.launches import check
from ptxcore.diagnostics import InputError

TWO = "kernel k1 = [P0]; kernel k2 = [P1];"


def text_of(declarations: str, head: str = "P0 | P1 | P2@host", *host: str) -> str:
    rows = [f"st.weak x, 1 | ld.weak r0, x | {host[0] if host else ''} ;", *(f" | | {line} ;" for line in host[1:])]
    return "\n".join(["PTX t", f"{{ x=0; {declarations} }}", f"{head} ;", *rows, "exists (true)"])


def test_kernels_that_can_run_as_written_pass() -> None:
    check(read(text_of(TWO, "P0 | P1 | P2@host", "launch k1", "launch k2", "sync k1", "sync stream 0")))
    check(read(text_of("")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (text_of("kernel k1 = [P0];"), "P1 belongs to no kernel"),
        (text_of(TWO, "P0@cta 0 | P1@cta 0 | P2@host"), "P1 of kernel 'k2' is in a CTA of kernel 'k1'"),
        (text_of(TWO, "P0@cta 0,cluster 0 | P1@cta 1,cluster 0 | P2@host"), "in a cluster of kernel 'k1'"),
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
        check(read(text))
    assert message in str(error.value.render())


def test_streams_are_independent_of_each_other() -> None:
    streams = "kernel k1 = [P0]; kernel k2 = [P1] stream 1;"
    check(read(text_of(streams, "P0 | P1 | P2@host", "launch k2", "launch k1")))
