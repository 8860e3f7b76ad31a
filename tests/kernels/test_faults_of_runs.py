"""What leaves a launch without a meaning is told of the run that shows it, however many threads there are."""

from __future__ import annotations

import ptxmm
from ptxcore.machine.run.clusters import LaunchedClusters
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 count)
{
.reg .b32 %i, %n, %p; .reg .b64 %out, %count, %at; .reg .pred %q;
ld.param.u64 %out, [out]; ld.param.u64 %count, [count];
mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mul.lo.u32 %i, %i, %n; mov.u32 %n, %tid.x; add.u32 %i, %i, %n;
"""
#: Each thread takes a place, and stores there if there is room.
APPENDS = """atom.global.add.u32 %p, [%count], 1; setp.gt.u32 %q, %p, 40; @%q bra DONE;
mul.wide.u32 %at, %p, 4; add.u64 %at, %at, %out;
st.global.u32 [%at], %i;
DONE: ret;
}
"""
#: Each thread stores in its place.
STORES = """mul.wide.u32 %at, %i, 4; add.u64 %at, %at, %out;
st.global.u32 [%at], %i;
ret;
}
"""


def checked(body: str, grid: int, block: int, elements: int) -> ptxmm.Result:
    tree = {
        "ptx": "k.ptx", "grid": grid, "block": block, "check": {"race_free": True},
        "params": {"out": {"type": "u32", "elements": elements}, "count": {"type": "u32", "elements": 1}},
    }  # fmt: skip
    return ptxmm.check(KernelFile.of(tree, "k.toml", {"k.ptx": _HEAD + body}).test())


def test_a_place_beyond_the_end_that_an_order_of_many_gives_is_told_with_its_line_and_buffer() -> None:
    found = checked(APPENDS, 4, 64, 40)
    line = _HEAD.count("\n") + 3
    assert found.verdict == "undefined" and "offset 160 of 'out'" in found.error
    assert found.undefined is not None and [site.line for site in found.undefined.culprits] == [line]


def test_what_goes_wrong_in_the_last_threads_of_many_is_told_of_these() -> None:
    found = checked(STORES, 80, 256, 80 * 256 - 1)
    assert found.verdict == "undefined" and "CTA 79 thread 255" in str(found.places)


def test_clusters_begin_in_order_from_the_first_one_on_and_each_begins_once() -> None:
    clusters = LaunchedClusters((5, 1, 1), (1, 1, 1))
    clusters.first = 3
    assert [x for ((x, _, _),) in clusters] == [3, 4, 0, 1, 2]
