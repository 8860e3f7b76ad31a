"""Communication within a warp: `vote`, `match`, `activemask`, `redux`, `elect` (PTX ISA 9.0, sections 9.7.13.8 to
9.7.13.12 and 9.7.13.14)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form

_MASK = "membermask:u32"

# Without .sync: gone where threads of a warp run independently.
_old_vote = partial(
    Form, kind="effect", section="9.7.13.8", version="1.2", target="sm_12", until="6.4 sm_70", repeats="uni"
)
_vote = partial(Form, kind="effect", section="9.7.13.9", version="6.0", target="sm_30", repeats="sync uni")
_match = partial(
    Form, kind="effect", section="9.7.13.10", version="6.0", target="sm_70", repeats="sync", type="b32 b64"
)
_redux = partial(Form, kind="effect", section="9.7.13.12", version="7.0", target="sm_80", repeats="sync NaN")

FORMS = (
    _old_vote("vote.mode.pred d, {!}a", mode="all any uni"),
    _old_vote("vote.ballot.b32 d, {!}a", target="sm_20"),
    _vote(f"vote.sync.mode.pred d, {{!}}a, {_MASK}", mode="all any uni"),
    _vote(f"vote.sync.ballot.b32 d, {{!}}a, {_MASK}"),
    _match(f"match.any.sync.type d:u32, a, {_MASK}"),
    _match(f"match.all.sync.type d|p?:u32 sink, a, {_MASK}"),
    Form("activemask.b32 d", kind="effect", section="9.7.13.11", version="6.2", target="sm_30"),
    _redux(f"redux.sync.op.type d:u32, a:u32, {_MASK}", op="add min max", type="u32 s32"),
    _redux(f"redux.sync.op.b32 d:u32, a:u32, {_MASK}", op="and or xor"),
    _redux(f"redux.sync.op{{.abs}}{{.NaN}}.f32 d, a, {_MASK}", op="min max", version="8.6",
           target="sm_100a / 8.8 sm_100f"),
    Form(f"elect.sync d|p:u32 sink kept, {_MASK}", kind="effect", section="9.7.13.14", version="8.0", target="sm_90",
         repeats="sync"),
)  # fmt: skip

DIFFERENCES = (
    Difference("9.7.13.14", "the predicate of elect.sync cannot be '_'", "only the lane is said to take '_'"),
)
