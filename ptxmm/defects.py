"""What to say about a defect of ours, so that a report of it can be acted on."""

from __future__ import annotations

import os

from ptxmm import __version__
from ptxmm.result import Refusal

#: Our own packages: one that is missing is a defect.
_OWN = ("ptxmm", "axioms", "litmus", "ptxcore")


def defect(error: Exception, subject: str, conditions: str) -> Refusal:
    """What to say of an exception that no input should cause: where it arose, and what to send along: the `subject`
    and the `conditions` of the run. Of a package that ptxmm needs and that is not installed, its name."""
    import traceback

    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if package and package not in _OWN:
        return Refusal(
            f"ptxmm needs the Python package '{package}', which is not installed (pip install brings it with ptxmm)"
        )

    frames = traceback.extract_tb(error.__traceback__)
    place = "unknown place"
    if frames:
        last = frames[-1]
        folder, file = os.path.split(last.filename)
        place = f"{os.path.basename(folder)}/{file}:{last.lineno} in {last.name}"
    text = " ".join(str(error).split())[:200]
    message = f"ptxmm has a defect: {type(error).__name__} at {place}{': ' + text if text else ''}"
    lines = [
        f"    please report it in ptxmm's issue tracker, with {subject} and this line:",
        f"    ptxmm {__version__}, {conditions}",
    ]
    if os.environ.get("PTXMM_TRACEBACK") == "1":
        lines += "".join(traceback.format_exception(error)).rstrip().splitlines()
    else:
        lines.append("    PTXMM_TRACEBACK=1 in the environment shows the traceback")
    return Refusal(message, details=tuple(lines))
