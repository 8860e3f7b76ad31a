"""The dialects by the names that the threads of tests give; what declares one is imported when a thread is in it."""

from __future__ import annotations

from functools import cache

from ptxcore.isa.table import TYPED, Dialect


@cache
def dialect_named(name: str, *, host: bool = False) -> Dialect:
    """A dialect, for threads of the host with what these alone can say."""
    if host:
        from litmus.formats.host import on_host

        return on_host(dialect_named(name))
    if name == "typed":
        return TYPED
    assert name == "short"
    from litmus.formats.short import SHORT

    return SHORT
