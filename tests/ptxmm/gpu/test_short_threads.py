"""Threads of the short dialect, which the harness rewrites as PTX: the model allows both the same."""

from __future__ import annotations

import pytest
from harnessed import made, named, nothing_forbidden, shown

import ptxmm
from ptxcore.diagnostics import InputError
from ptxmm.gpu.module import module
from ptxmm.gpu.typed import typed

HEAD = "PTX t\n{ x = 0; y = 1; .u16 b = 65535; .u64 w; s @ surface aliases x; t @ texture aliases x; }\n"
#: Two threads, which have every instruction of the dialect that PTX has.
PROGRAMS = {
    "accesses": ("st.weak x, -1; ld.relaxed.gpu r0, y", "ld.acquire.gpu r0, x; st.release.gpu y, r0; ld.weak r1, b"),
    "atomics": (
        "atom.relaxed.gpu.add r0, y, -3; red.relaxed.sys.xor y, r0",
        "atom.acq_rel.gpu.cas r1, y, 1, 7; atom.relaxed.sys.exch r0, y, r2",
    ),
    "images": ("sust.weak s, 5; fence.proxy.alias; suld.weak r0, s", "tld.weak r0, t; fence.sc.gpu; tld.weak r1, t"),
    "computing": (
        "ld r0, 7; sub r1, r2, r0; mul r2, r1, r1; div r2, r2, r1; bge r1, 0, LE; mov r2, 4; LE: add r0, r0, 1",
        "ld.weak r0, b; mul r1, r0, -1; blt r1, 0, LE; goto LE; LE: st.weak b, r1",
    ),
}  # fmt: skip


def program(code: tuple[str, ...], place: str = "P1@cta 1,gpu 0") -> str:
    columns = [[part.strip() for part in one.replace("LE: ", "LE: ; ").split(";")] for one in code]
    rows = max(map(len, columns))
    cells = [" | ".join(c[i] if i < len(c) else "" for c in columns) for i in range(rows)]
    body = "".join(f" {row} ;\n" for row in cells)
    locations = " ".join(f"{t}:r{n};" for t in range(len(code)) for n in range(3))
    return f"{HEAD} P0@cta 0,gpu 0 | {place} ;\n{body}locations [{locations} x; y; b;]\nexists true\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_model_allows_both_the_same(name: str) -> None:
    test = ptxmm.parse(program(PROGRAMS[name]))
    assert {thread.dialect for thread in test.threads} == {"short"}
    short, in_ptx = (
        {tuple(value % 2**32 for value in state.values()) for state in ptxmm.check(one, witnesses=False).states}
        for one in (test, typed(test))
    )
    assert short == in_ptx != set()
    of = made(test)
    assert of is not None
    nothing_forbidden(of, shown(of, 4))


def test_a_test_of_the_library_in_the_short_dialect_is_run() -> None:
    of = made(named("init+before-everything"))
    assert of is not None and set(shown(of, 2).states) == {(1,)}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("bar.cta.sync 0, 0", "there is no 'bar.cta.sync'"),
        ("suld.acquire.cta r0, s", "there is no 'suld.acquire.cta'"),
        ("fence.proxy.texture", "there is no 'fence.proxy.texture'"),
        ("atom.relaxed.gpu.sub r0, y, 1", "there is no 'atom.sub'"),
        ("red.relaxed.gpu.add b, 1", "there is no 'red.add' of 16 bits"),
        ("ld r0, x", "an address in a register of 32 bits"),
        ("ld.weak r0, r1", "an address in a register of 32 bits"),
        ("ld.weak r0, w", "'w' has 64 bits"),
    ],
)
def test_what_ptx_does_not_have_is_refused(code: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        module(ptxmm.parse(program((code, "st.weak x, 1"))))
    (found,) = error.value.diagnostics
    assert said in found.message and found.span.line == 4
