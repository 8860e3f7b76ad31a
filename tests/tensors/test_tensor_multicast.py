"""Copies to several CTAs of a cluster, run, beside NumPy: random masks, issuers, boxes and places, several copies at once, and
what each CTA's mbarrier object learns (PTX ISA 9.0, sections 9.7.9.25.4.1 and 9.7.9.25.5.2)."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np
import ptxas
import pytest
from agreement import compared
from campaigns import share
from tensor_reference import SIZES
from tensor_reference import load as load_reference

import ptxmm
from ptxcore.machine.run.launch import load
from ptxmm.running import launch

#: Bytes of shared memory that each CTA shows, of the place of one copy, and how many copies there are.
ROOM, PLACE, COPIES = 2048, 512, 4
#: Words of the table: of each CTA how many bytes it waits for; of each copy who issues it and what it is given.
_OF_CTAS, _OF_COPY = 16, 10

_TENSOR = "cp.async.bulk.tensor.2d.shared::cluster.global{mode}.mbarrier::complete_tx::bytes.multicast::cluster{group}"
FORMS = {
    **{
        f"tile{group}": f"{_TENSOR.format(mode='', group=group)} [%r20], [%map, {{%r12, %r13}}], [%r21], %mask;"
        for group in ("", ".cta_group::1", ".cta_group::2")
    },
    **{
        f"gather4{group}": f"{_TENSOR.format(mode='.tile::gather4', group=group)} [%r20], "
        "[%map, {%r12, %r13, %r14, %r15, %r16}], [%r21], %mask;"
        for group in ("", ".cta_group::1", ".cta_group::2")
    },
    "bulk": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
            " [%r20], [%from], %r17, [%r21], %mask;",
}  # fmt: skip


def module(form: str) -> str:
    return f"""
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 table, .param .u64 out, .param .u64 bytes)
{{
.reg .b32 %r<30>; .reg .b64 %map, %table, %out, %from, %q; .reg .b16 %mask; .reg .pred %p, %waits;
.shared .align 128 .b8 s[{ROOM}]; .shared .align 8 .b64 bar;
mov.b64 %map, map; cvta.param.u64 %map, %map; ld.param.u64 %table, [table]; ld.param.u64 %out, [out];
mov.u32 %r0, %cluster_ctarank; mul.wide.u32 %q, %r0, {ROOM}; add.u64 %out, %out, %q;
mov.u32 %r1, 0;
F: mov.u32 %r2, s; add.u32 %r2, %r2, %r1; st.shared.v4.u32 [%r2], {{%r0, %r0, %r0, %r0}}; add.u32 %r1, %r1, 16;
setp.lt.u32 %p, %r1, {ROOM}; @%p bra F;
mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;
mul.wide.u32 %q, %r0, 4; add.u64 %q, %q, %table; ld.global.u32 %r3, [%q]; setp.ne.u32 %waits, %r3, 0;
@%waits mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r3;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mov.u32 %r1, 0; add.u64 %q, %table, {4 * _OF_CTAS};
C: ld.global.u32 %r10, [%q]; setp.ne.u32 %p, %r10, %r0; @%p bra N;
ld.global.u16 %mask, [%q+4]; ld.global.u32 %r11, [%q+8];
ld.global.u32 %r12, [%q+12]; ld.global.u32 %r13, [%q+16]; ld.global.u32 %r14, [%q+20]; ld.global.u32 %r15, [%q+24];
ld.global.u32 %r16, [%q+28]; ld.global.u32 %r17, [%q+32]; ld.global.u32 %r18, [%q+36];
mov.u32 %r20, s; add.u32 %r20, %r20, %r11; mov.u32 %r21, bar; mapa.shared::cluster.u32 %r21, %r21, %r18;
mapa.shared::cluster.u32 %r20, %r20, %r18;
ld.param.u64 %from, [bytes]; cvt.u64.u32 %map, %r12; add.u64 %from, %from, %map; mov.b64 %map, map; cvta.param.u64 %map, %map;
{FORMS[form]}
N: add.u64 %q, %q, {4 * _OF_COPY}; add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, {COPIES}; @%p bra C;
@!%waits bra D;
L: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p, [bar], 0; @!%p bra L;
D: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; mov.u32 %r1, 0;
G: mov.u32 %r2, s; add.u32 %r2, %r2, %r1; ld.shared.v4.u32 {{%r3, %r4, %r5, %r6}}, [%r2];
cvt.u64.u32 %q, %r1; add.u64 %q, %q, %out;
st.global.v4.u32 [%q], {{%r3, %r4, %r5, %r6}}; add.u32 %r1, %r1, 16; setp.lt.u32 %p, %r1, {ROOM}; @%p bra G;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ret;
}}
"""


def agrees(form: str, number: int) -> int:
    """A random launch; gives how many CTAs got a box."""
    r = random.Random(f"{form} {number}")
    ctas = r.choice((2, 4, 8, 16) if form.endswith("2") else (1, 2, 3, 4, 7, 8, 16))
    kind, rows = r.choice(list(SIZES)), form.startswith("gather4")
    size = SIZES[kind]
    dims = [16 // size * r.randint(1, 8), r.randint(1, 9)]
    box = [16 // size * r.randint(1, 8 if rows else 4), 1 if rows else r.randint(1, 8)]
    map_: dict[str, Any] = {"type": kind, "dims": dims, "strides": [dims[0] * size], "box": box}
    tensor = np.frombuffer(r.randbytes(max(PLACE, prod(dims) * size)), np.uint8).copy()
    table = np.zeros(_OF_CTAS + COPIES * _OF_COPY, np.uint32)
    table[_OF_CTAS::_OF_COPY] = 99  # nobody
    expected = np.repeat(np.arange(ctas, dtype=np.uint32)[:, None], ROOM // 4, 1).view(np.uint8)
    got = 0
    for copy in range(r.randint(1, COPIES)):
        mask, place = r.randrange(1, 1 << ctas), PLACE * copy + 128 * r.randint(0, 3 if form == "bulk" else 0)
        issuer = object_of = r.randrange(ctas)
        at = [r.randint(-3, dims[0]), *(r.randint(-2, dims[1]) for _ in range(4 if rows else 1)), *[0] * 5][:5]
        length = 16 * r.randint(1, (PLACE * (copy + 1) - place) // 16)
        if form == "bulk":
            at = [16 * r.randint(0, (PLACE - length) // 16), 0, 0, 0, 0]
        if form.endswith("2"):  # the object may be the peer's
            object_of ^= r.randrange(2)
        for cta in (c for c in range(ctas) if mask >> c & 1):
            if form == "bulk":
                expected[cta, place : place + length] = tensor[at[0] : at[0] + length]
            else:
                length = load_reference(
                    map_, tensor, "tile::gather4" if rows else "tile", at[: 5 if rows else 2], [], expected[cta], place
                )
            told = cta & ~1 | object_of & 1 if form.endswith("2") else cta
            table[told] += length
            got += 1
        first = _OF_CTAS + copy * _OF_COPY
        words = [issuer, mask, place, *at, length, object_of]
        table[first : first + _OF_COPY] = [w & 0xFFFF_FFFF for w in words]
    out = np.zeros(ctas * ROOM, np.uint8)
    made = load(module(form), "k.ptx")
    given = [ptxmm.TensorMap(tensor, **map_), table, out, tensor]
    launch(made, "k", (ctas,), (1,), given, cluster=(ctas,), limit=200_000, seed=number % 3 or None)
    assert np.array_equal(out.reshape(ctas, ROOM), expected), (form, number)
    return got


@pytest.mark.parametrize("form", FORMS)
def test_each_cta_of_a_mask_gets_its_box_and_learns_of_it(form: str) -> None:
    assert sum(agrees(form, number) for number in range(3)) >= 3


@pytest.mark.campaign
@pytest.mark.parametrize("form", FORMS)
def test_a_thousand_multicasts_are_as_numpy_has_them(form: str) -> None:
    for number in range(share(1000)):
        compared(agrees(form, 1000 + number))


@pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")
def test_ptxas_takes_what_is_run() -> None:
    for form in FORMS:
        assert ptxas.check_module(module(form)) == [], form
