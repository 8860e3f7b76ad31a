"""Which forms kernels of a single instruction do not compare with a GPU: those that stand in whole kernels, and those that
nothing compares, with the reason."""

from __future__ import annotations

from ptxcore.isa import async_copy, barriers
from ptxcore.isa.form import Form

#: Sections whose forms stand in whole kernels (`whole.py`): what they do takes several threads, shared memory, or an
#: instruction that tells when it is done; or their results differ by machine, and are used and not shown.
WHOLE = (
    "9.7.9.12", "9.7.9.13", "9.7.9.17", "9.7.9.18", "9.7.9.19", "9.7.9.20", "9.7.9.23", "9.7.9.24", "9.7.9.25.3.2",
    "9.7.9.25.3.3", "9.7.9.25.4", "9.7.9.25.5", "9.7.9.25.6", "9.7.9.26", "9.7.10", "9.7.11", "9.7.12", "9.7.13.2",
    "9.7.13.3", "9.7.13.4", "9.7.13.7", "9.7.13.13", "9.7.13.15", "9.7.13.16", "9.7.13.17", "9.7.13.18", "9.7.14",
    "9.7.15", "9.7.16", "9.7.17", "9.7.19",
)  # fmt: skip
#: What waits and gives nothing, of sections whose other forms give something.
_SILENT = (barriers.bar_arrive, barriers.bar_sync, async_copy.wait_all, async_copy.wait_group)

#: Forms that nothing compares, by section.
NOWHERE = {
    "9.7.9.14": "needs buffers of several GPUs behind one multicast object",
    "9.7.19.1": "stops the launch for a debugger",
}
#: Single forms, by section and a part of their syntax line.
_SINGLE = {
    ("9.7.9.19", "a:u32"): "needs addresses of 32 bits, which no GPU has any more",
    ("9.7.9.13", "size:u32"): "needs addresses of 32 bits, which no GPU has any more",
    (
        "9.7.9.12",
        ".space.type [a:narrow], b, [mbar:narrow]",
    ): "ptxas takes the form, and breaks off when it makes code of it",
    ("9.7.9.12", "{.completion}.type [a:narrow], b"): "ptxas takes the form, and makes no code of it",
}


def _is_in(form: Form, section: str) -> bool:
    return f"{form.section}.".startswith(f"{section}.")


def is_whole(form: Form) -> bool:
    """Whether a form stands in whole kernels."""
    return not nowhere(form) and (form.run in _SILENT or any(_is_in(form, section) for section in WHOLE))


def nowhere(form: Form) -> str:
    """Why nothing compares a form; "" where something does."""
    if form.only == "manual":
        return "ptxas does not take the form"
    if form.until.split()[:1] == ["1.4"]:
        return "of PTX ISA 1.3, to whose kernels our machine passes no parameters"
    for section, reason in NOWHERE.items():
        if _is_in(form, section):
            return reason
    for (section, part), reason in _SINGLE.items():
        if _is_in(form, section) and part in form.syntax:
            return reason
    return ""
