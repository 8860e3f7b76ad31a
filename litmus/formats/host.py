"""What threads of the host program may say beside memory instructions: `launch k1`, `sync k1`, `sync stream 0`.

The name of a kernel and the number of a stream are no values: whoever takes the effects finds them in the instruction.
"""

from __future__ import annotations

from collections import ChainMap

from ptxcore.isa.effect_kinds import HOST
from ptxcore.isa.form import Form, Use
from ptxcore.isa.table import Dialect, by_mnemonic
from ptxcore.isa.thread import Thread


def launch(how: Use, thread: Thread) -> None:
    """Enqueues the kernel in its stream."""
    thread.effect(HOST, how, operation="launch")


def sync(how: Use, thread: Thread) -> None:
    """Waits until the kernel, or everything enqueued in the stream so far, is complete."""
    thread.effect(HOST, how, operation="sync")


def sync_stream(how: Use, thread: Thread, number: int) -> None:
    sync(how, thread)


_FORMS = by_mnemonic(
    (
        Form("launch k:function", launch, kind="effect"),
        Form("sync k:function", sync, kind="effect"),
        Form("sync.stream n:instance", sync_stream, kind="effect"),
    )
)


def on_host(dialect: Dialect) -> Dialect:
    """A dialect as host threads have it."""
    return Dialect(
        f"{dialect.name} on the host",
        ChainMap(_FORMS, dialect.forms),  # type: ignore[arg-type]
        bare=dialect.bare,
        register_width=dialect.register_width,
    )
