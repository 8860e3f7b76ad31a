"""Atomics, barrier objects, fences and grids (sections 9.7.13.4 to 9.7.13.7, 9.7.13.13 and 9.7.13.15 to 9.7.13.18)."""

from __future__ import annotations

from ptxcore.isa import atomics, fences, launch, mbarrier
from ptxcore.isa.data_movement import FORMS as MOVES
from ptxcore.isa.data_movement import getctarank, isspacep, mapa

REFERENCES = {
    ("9.7.13.15.17", "mbarrier.pending_count.b64 d:u32, state:u64"): lambda how, state: state % (1 << 20),
    ("9.7.13.18", "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response:b128"): (
        lambda how, response: (response >> 96) % 2
    ),
    ("9.7.13.18", "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 d:b32 x4, response:b128"): (
        lambda how, response: (*(response >> place & 0xFFFFFFFF for place in (0, 32, 64)), 0)
    ),
    ("9.7.13.18", "clusterlaunchcontrol.query_cancel.dimension.b32.b128 d:b32, response:b128"): (
        lambda how, response: response >> 32 * "xyz".index(how.words["dimension"][-1]) & 0xFFFFFFFF
    ),
}

_TESTED = (
    (atomics.FORMS, "test_atomics.py compares what it leaves in memory with a reference"),
    (mbarrier.FORMS, "test_mbarrier.py compares it with a model of barrier objects"),
    (fences.FORMS, "has no result; test_barriers.py sees which fence it is"),
    (launch.FORMS, "has no result; test_barriers.py sees what it asks of the grid"),
    ([form for form in MOVES if form.run in (isspacep, mapa, getctarank)], "test_barriers.py sees what it asks"),
)

EXPLAINED = {
    (form.section, form.syntax): why
    for forms, why in _TESTED
    for form in forms
    if form.run is not None and (form.section, form.syntax) not in REFERENCES
}
