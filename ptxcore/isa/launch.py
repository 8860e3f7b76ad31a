"""Grids, clusters and tensor maps that are still to come: `griddepcontrol`, `clusterlaunchcontrol` and
`tensormap.cp_fenceproxy` (PTX ISA 9.0, sections 9.7.13.13 and 9.7.13.16 to 9.7.13.18)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form
from ptxcore.places import SCOPES

_cancel = partial(Form, kind="effect", section="9.7.13.17", version="8.6", target="sm_100")
_query = partial(Form, section="9.7.13.18", version="8.6", target="sm_100", first="query_cancel")

FORMS = (
    Form("griddepcontrol.action", kind="effect", section="9.7.13.13", version="7.8", target="sm_90",
         action="launch_dependents wait"),
    Form("tensormap.cp_fenceproxy.global.shared::cta.between.sem.scope.sync.aligned [dst:global narrow], [src:shared::cta],"
         " size:u32 imm 128..128", kind="effect", section="9.7.13.16", version="8.3", target="sm_90",
         between="tensormap::generic", sem="release", scope=SCOPES, first="cp_fenceproxy",
         ordered="global shared::cta", repeats="sync"),
    _cancel("clusterlaunchcontrol.try_cancel.async{.space}.completion{.multicast}.b128 [addr:narrow], [mbar:narrow]",
            space="shared::cta", completion="mbarrier::complete_tx::bytes", multicast="multicast::cluster::all",
            needs={"multicast": "8.6 sm_100a sm_101a sm_120a / 8.8 sm_100f sm_101f sm_120f"},
            first="try_cancel async"),
    _query("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response:b128"),
    _query("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 d:b32 x4, response:b128"),
    _query("clusterlaunchcontrol.query_cancel.dimension.b32.b128 d:b32, response:b128",
           dimension="get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z"),
)  # fmt: skip

DIFFERENCES: tuple[Difference, ...] = ()
