"""Barriers made of atomics: threads count themselves, one waits for the count."""

from __future__ import annotations

from litmus.families.build import at_least, build, conjunction, named, reaches_all
from litmus.test import Test

#: How a worker says that it is there: by a flag of its own, or by counting itself with an atomic.
SIGNALS = ("flag", "red", "atom")


def all_to_one_barrier(
    n: int, *, signal: str = "flag", relaxed: bool = False, scope: str = "gpu", one_cta: bool = False
) -> Test:
    """n-1 workers write data and signal; thread 0 waits for all signals and reads all data.

    The workers signal with release semantics: each by a flag of its own (`flag`), or by adding one to a count (`red`,
    `atom`). The waiter spins with acquire loads: all data is there. With `relaxed` signals and loads, or a scope that
    does not take in all threads, some may be missing. A count is far harder to decide than flags, since any order of
    the workers gives it. n >= 2. Raises `ValueError` for other sizes, signals and scopes.
    """
    at_least(n, 2)
    if signal not in SIGNALS:
        raise ValueError(f"'{signal}' is no way to signal: {', '.join(SIGNALS)}")
    sound = reaches_all(scope, one_cta) and not relaxed
    load, release = ("relaxed", "relaxed") if relaxed else ("acquire", "release")
    ld = f"ld.{load}.{scope}.u32 %r0,"
    if signal == "flag":
        flags = [f"f{i}" for i in range(1, n)]
        signals = [f"st.{release}.{scope}.u32 [{f}], 1" for f in flags]
        waits = [_wait(f"L{i}", f"{ld} [{f}]", 1) for i, f in enumerate(flags, 1)]
    else:
        flags = ["count"]
        result = "" if signal == "red" else "%r0, "
        signals = [f"{signal}.{release}.{scope}.add.u32 {result}[count], 1"] * (n - 1)
        waits = [_wait("L0", f"{ld} [count]", n - 1)]
    reads = [f"ld.weak.u32 %r{i}, [x{i}]" for i in range(1, n)]
    waiter = [cell for wait in waits for cell in wait] + reads
    workers = [[f"st.weak.u32 [x{i}], 1", s] for i, s in enumerate(signals, 1)]
    why = (
        "The waiter's acquires see every worker's release, so all data is there"
        if sound
        else "The signals do not synchronize, so all of them may be there before the data is"
    )
    all_there = conjunction(f"0:r{i} == 1" for i in range(1, n))
    condition = f"forall {all_there}" if sound else f"exists ~{all_there}"
    name = named(
        "barrier", n, "" if signal == "flag" else signal, "relaxed" if relaxed else "",
        scope if scope != "gpu" else "", "one-cta" if one_cta else "",
    )  # fmt: skip
    return build(name, why, [*flags, *(f"x{i}" for i in range(1, n))], [waiter, *workers], condition, one_cta)


def _wait(label: str, load: str, value: int) -> list[str]:
    """The cells of a spin until a load gives `value`."""
    return [f"{label}:", load, f"setp.ne.u32 %p0, %r0, {value}", f"@%p0 bra {label}"]
