"""Grids, clusters and tensor maps that are still to come: `griddepcontrol`, `clusterlaunchcontrol` and
`tensormap.cp_fenceproxy` (PTX ISA 9.0, sections 9.7.13.13 and 9.7.13.16 to 9.7.13.18)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ptxcore.isa.difference import Difference
from ptxcore.isa.effect_kinds import GRID
from ptxcore.isa.form import Form, Use
from ptxcore.isa.mbarrier import signal
from ptxcore.isa.tensor_replace import copy_and_fence
from ptxcore.places import SCOPES
from ptxcore.values.packed import join, split
from ptxcore.values.terms import Value, extract

if TYPE_CHECKING:
    from ptxcore.isa.thread import Thread


def grid_control(how: Use, thread: Thread) -> None:
    """`launch_dependents`: grids that depend on this one may begin. `wait`: waits for the grids that this one depends on.
    Where grids run one behind the other, neither has an effect."""
    thread.effect(GRID, how, operation=how.words["action"])


# The response to try_cancel is 128 bits that the manual leaves opaque. Here they are four words of 32 bits: the index of
# the first CTA of the cluster (x, y, z), and 1 where it was cancelled; all 0 where none was.

_WORD, _WORDS = 32, 4


def try_cancel(how: Use, thread: Thread, addr: Value, mbar: Value) -> None:
    """At some time: [addr] = the response to a request to cancel a cluster that has not begun, and the barrier object [mbar]
    learns of its bytes; with `.multicast::cluster::all` at the same addresses in every CTA of the cluster, each at a time of
    its own"""
    if not how.words["multicast"]:
        thread.defer(how, lambda: _deliver(how, how, thread, (addr, mbar), _response(how, thread)))
        return
    responses: list[Value] = []  # one for all CTAs, each of which gets it at a time of its own

    def deliver(rank: int) -> None:
        if not responses:
            responses.append(_response(how, thread))
        there = thread.map_address(how, addr, rank), thread.map_address(how, mbar, rank)
        _deliver(how, access, thread, there, responses[0])

    access = how.part(how.width)
    access.space = "shared::cluster"
    for rank in thread.ranks(how):
        thread.defer(how, partial(deliver, rank))


def _response(how: Use, thread: Thread) -> Value:
    found = thread.cancel_cluster(how)
    return 0 if found is None else join((*found, 1), _WORD)


def _deliver(how: Use, access: Use, thread: Thread, there: tuple[Value, Value], response: Value) -> None:
    addr, mbar = there
    thread.store(access, addr, response)
    signal(thread, mbar, how.width // 8)


def is_canceled(how: Use, response: Value) -> Value:
    """p = whether a cluster was cancelled"""
    return extract(response, 3 * _WORD, 3 * _WORD)


def first_ctaid(how: Use, response: Value) -> tuple[Value, ...]:
    """d = the index of the first CTA of the cancelled cluster; its fourth element is left open, and so is all where none was
    cancelled"""
    x, y, z, _ = split(response, _WORD, _WORDS)
    return x, y, z, 0


def first_ctaid_in(how: Use, response: Value) -> Value:
    """d = one coordinate of that index"""
    place = "xyz".index(how.words["dimension"][-1])
    return split(response, _WORD, _WORDS)[place]


_cancel = partial(Form, kind="effect", section="9.7.13.17", version="8.6", target="sm_100")
_query = partial(Form, section="9.7.13.18", version="8.6", target="sm_100", first="query_cancel")

FORMS = (
    Form("griddepcontrol.action", grid_control, kind="effect", section="9.7.13.13", version="7.8",
         target="sm_90", action="launch_dependents wait"),
    Form("tensormap.cp_fenceproxy.global.shared::cta.between.sem.scope.sync.aligned [dst:global narrow], [src:shared::cta],"
         " size:u32 imm 128..128", copy_and_fence, kind="effect", section="9.7.13.16", version="8.3", target="sm_90",
         between="tensormap::generic", sem="release", scope=SCOPES, first="cp_fenceproxy",
         ordered="global shared::cta", repeats="sync"),
    _cancel("clusterlaunchcontrol.try_cancel.async{.space}.completion{.multicast}.b128 [addr:narrow], [mbar:narrow]",
            try_cancel,
            space="shared::cta", completion="mbarrier::complete_tx::bytes", multicast="multicast::cluster::all",
            needs={"multicast": "8.6 sm_100a sm_101a sm_120a / 8.8 sm_100f sm_101f sm_120f"},
            first="try_cancel async"),
    _query("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response:b128", is_canceled),
    _query("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 d:b32 x4, response:b128", first_ctaid),
    _query("clusterlaunchcontrol.query_cancel.dimension.b32.b128 d:b32, response:b128", first_ctaid_in,
           dimension="get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z"),
)  # fmt: skip

DIFFERENCES: tuple[Difference, ...] = ()
