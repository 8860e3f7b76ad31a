"""Which forms are not compared with a GPU, and why."""

from __future__ import annotations

from ptxcore.isa import async_copy, barriers
from ptxcore.isa.form import Form

#: Forms of which no thread or warp alone decides what comes out, or whose results differ by machine, by section.
NOT_COMPARED = {
    "9.7.9.12": "asynchronous: a barrier object tells when it is done",
    "9.7.9.13": "asynchronous: a barrier object tells when it is done",
    "9.7.9.14": "needs buffers of several devices",
    "9.7.9.17": "leaves memory undefined",
    "9.7.9.18": "cache policies are opaque",
    "9.7.9.19": "asks about addresses, which differ by machine",
    "9.7.9.20": "converts addresses, which differ by machine",
    "9.7.9.23": "addresses of a cluster differ by machine",
    "9.7.9.24": "asks about addresses of a cluster",
    "9.7.9.25.3.2": "has no result; copies are waited for by cp.async.wait_all",
    "9.7.9.25.4": "asynchronous: a barrier object or a group tells when it is done",
    "9.7.9.25.5": "asynchronous: a barrier object or a group tells when it is done",
    "9.7.9.25.6": "has no result",
    "9.7.9.26": "tensor maps are opaque",
    "9.7.10": "no kernel is made of images yet",
    "9.7.11": "no kernel is made of images yet",
    "9.7.13.2": "has no result",
    "9.7.13.3": "has no result",
    "9.7.13.4": "has no result",
    "9.7.13.7": "asynchronous: a barrier object tells when it is done",
    "9.7.13.13": "has no result",
    "9.7.13.15": "barrier objects are opaque",
    "9.7.13.16": "tensor maps are opaque",
    "9.7.13.17": "what is cancelled depends on the schedule",
    "9.7.13.18": "the response is opaque",
    "9.7.15": "no kernel is made of matrices yet",
    "9.7.16": "no kernel is made of tensor memory yet",
    "9.7.17": "addresses on the stack differ by machine",
    "9.7.19": "ends the launch, or has no result",
}


#: Sections whose forms stand in whole kernels (`whole.py`), and not in kernels of a single instruction.
WHOLE = ("9.7.14",)


def is_whole(form: Form) -> bool:
    """Whether a form is of such a section."""
    return any(f"{form.section}.".startswith(f"{section}.") for section in WHOLE)


def reason_against(form: Form) -> str:
    """Why no kernel is made of a form; "" where one is."""
    if form.only == "manual":
        return "ptxas does not take the form"
    if form.until.split()[:1] == ["1.4"]:
        return "of PTX ISA 1.3, whose kernels have no parameters"
    parts = form.section.split(".")
    for count in range(len(parts), 2, -1):
        reason = NOT_COMPARED.get(".".join(parts[:count]))
        if reason:
            return reason
    if form.run in (barriers.bar_arrive, barriers.bar_sync, async_copy.wait_all, async_copy.wait_group):
        return "has no result"
    if form.kind not in ("value", "warp", "effect"):
        return "computes nothing"
    return ""
