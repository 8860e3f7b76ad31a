"""Miscellaneous instructions (PTX ISA 9.0, section 9.7.19)."""

from __future__ import annotations

from functools import partial

from ptxcore.isa.control import nothing
from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.isa.thread import Thread


def brkpt(how: Use, thread: Thread) -> None:
    """Stops for a debugger"""
    thread.stop(how, "brkpt")


def trap(how: Use, thread: Thread) -> None:
    """Ends the launch with an error"""
    thread.stop(how, "trap")


#: Architectures whose warps may trade registers.
_TRADING = "8.0 sm_90a sm_100a sm_110a sm_120a / 8.8 sm_100f sm_110f sm_120f"

_trade = partial(
    Form,
    section="9.7.19.5",
    version="8.0",
    needs={"action": _TRADING},
    action="inc dec",
    first="action",
    repeats="sync",
)

FORMS = (
    Form("brkpt", brkpt, kind="effect", section="9.7.19.1", target="sm_11"),
    Form(
        "nanosleep.u32 t:u32 own",
        nothing,
        kind="nothing",
        section="9.7.19.2",
        version="6.2",
        target="sm_70",
        manual={"": "6.3 sm_70"},
    ),
    Form("pmevent a:imm u32 0..15", nothing, kind="nothing", section="9.7.19.3", version="1.4"),
    Form("pmevent.mask a:imm u32 0..65535", nothing, kind="nothing", section="9.7.19.3", version="3.0", target="sm_20"),
    Form("trap", trap, kind="effect", section="9.7.19.4"),
    _trade("setmaxnreg.action.sync.aligned.u32 a:imm 24..256 *8", nothing, kind="nothing"),
    _trade("setmaxnreg.action.sync.aligned.s32 a:imm 24..256 *8", nothing, kind="nothing", only="ptxas"),
)

DIFFERENCES = (
    Difference("9.7.19.2", "`nanosleep` is known from PTX ISA 6.2 on.", "It came with PTX ISA 6.3."),
    Difference("9.7.19.5", "`setmaxnreg` may have the type `.s32`.", "Its type is `.u32`."),
)
