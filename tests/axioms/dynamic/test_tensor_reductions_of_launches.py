"""Several reductions of tensors to the same elements, which nothing orders: decided by one run, beside every order of them."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from agreement import compared
from by_runs import by_runs

from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result

_PTX = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 given)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>; .shared .align 128 .b8 s[16];
mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [given]; mov.u32 %r0, %ctaid.x; mov.u32 %r5, 0;
mul.wide.u32 %rd3, %r0, 16; add.u64 %rd3, %rd3, %rd2; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3];
st.shared.v4.u32 [s], {%r1, %r2, %r3, %r4}; fence.proxy.async.shared::cta;
setp.eq.u32 %p0, %r0, 0; @%p0 bra FIRST;
cp.reduce.async.bulk.tensor.1d.global.shared::cta.OTHER.tile.bulk_group [%rd1, {%r5}], [s]; bra E;
FIRST: FIRST_ONE
E: cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;
}
"""
_REDUCE = "cp.reduce.async.bulk.tensor.1d.global.shared::cta.{0}.tile.bulk_group [%rd1, {{%r5}}], [s];"
_STORE = "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd1, {%r5}], [s];"
_DOES: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "inc": lambda old, b: np.where(old >= b, 0, old + 1), "dec": lambda old, b: np.where((old == 0) | (old > b), b, old - 1),
}  # fmt: skip


def launched(first: str, other: str, kind: str, start: list[Any], given: list[list[Any]], check: str) -> Result:
    bits = [int(n) for n in np.array(given, {"u32": "u4", "s32": "i4", "f32": "f4"}[kind]).view("u4").ravel()]
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": len(given), "block": 1,
        "params": {"map": {"tensor_map": {"buffer": "t", "dims": [4], "box": [4]}},
                   "given": {"type": "u32", "init": bits, "align": 16}},
        "memory": {"t": {"type": kind, "init": start}},
        "check": {"forall": check, "race_free": True},
    }  # fmt: skip
    text = _PTX.replace("OTHER", other).replace("FIRST_ONE", first)
    return by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())[1]


def in_any_order(operations: list[str], start: Any, given: Any) -> set[tuple[Any, ...]]:
    """What stands there at the end."""
    found = set()
    for order in permutations(range(len(given))):
        now = start
        for i in order:
            now = _DOES[operations[i]](now, given[i])
        found.add(tuple(now.tolist()))
    return found


@pytest.mark.compares(1.0)
def test_integers_are_reduced_in_any_order() -> None:
    choose, decided = Random(1), 0
    for operation in _DOES:
        for kind in ("u32", "s32") if operation in ("add", "min", "max") else ("u32",):
            other = choose.choice((operation, operation, "add"))
            numbers = np.array(
                [[choose.randrange(1, 9) for _ in range(4)] for _ in range(4)],
                kind.replace("32", "4").replace("s", "i"),
            )
            start, given = numbers[0], numbers[1:]
            ends = in_any_order([operation, other, other], start, given)
            check = " && ".join(f"t[{i}] == {n}" for i, n in enumerate(sorted(ends)[0]))
            result = launched(_REDUCE.format(operation), other, kind, start.tolist(), given.tolist(), check)
            assert compared(result).verdict == "ok" or operation in ("inc", "dec") or other != operation, operation
            assert result.verdict != "ok" or len(ends) == 1, operation
            decided += result.verdict == "ok"
    assert decided >= 6


@pytest.mark.parametrize(("given", "verdict"), [([1.5, 2.25, -3.0], "ok"), ([2.0**30, 0.125, -(2.0**30)], "undecided")])
def test_sums_are_decided_where_no_order_rounds(given: list[float], verdict: str) -> None:
    check = "t[0] >= 0 && t[0] < 1"  # of the second ones as they come 0, in another order an eighth
    assert launched(_REDUCE.format("add"), "add", "f32", [0.0] * 4, [[g] * 4 for g in given], check).verdict == verdict


def test_a_store_beside_a_reduction_is_a_race() -> None:
    result = launched(_STORE, "add", "u32", [0] * 4, [[1] * 4] * 2, "t[0] < 9")
    assert result.verdict == "undefined"
    assert len(result.races) == 1
