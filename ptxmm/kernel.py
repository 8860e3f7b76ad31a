"""Kernel tests in Python:

lock = ptxmm.Kernel(
    "lock.ptx",
    entry="k",
    grid=2,
    block=1,
    params={"lock": {"type": "u32", "elements": 1}, "x": {"type": "u32", "elements": 1}},
    forall="x[0] == 2",
    race_free=True,
)
result = lock.check()
assert result.verdict == "ok", result
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ptxmm.api import check as check_test
from ptxmm.kernels.python_values import plain_value, table_of_value
from ptxmm.kernels.test import PROPERTIES, QUANTIFIERS, KernelTest
from ptxmm.kernels.toml import KernelFile

if TYPE_CHECKING:
    from os import PathLike

    from axioms.cat.model import Model
    from ptxmm.result import Result

_INLINE = "<text>"


class Kernel:
    """A kernel test: what a TOML file says, as arguments of the same names. `test` is its value."""

    def __init__(
        self,
        ptx: str | PathLike[str] | None = None,
        *,
        params: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
        memory: Mapping[str, Any] | None = None,
        check: Mapping[str, Any] | None = None,
        bounds: Mapping[str, int] | int | None = None,
        expect: str | Sequence[str] = "ok",
        name: str = "kernel",
        **others: Any,
    ) -> None:
        """`ptx` is a path, or the text of a module; `cu` a source to compile. `params` are the kernel's parameters in their
        order, each as a table (`{"type": "u32", "elements": 4, "init": [1, 2]}`, `{"type": "u32", "value": 4}`), as a NumPy
        array, which is a buffer, or as a NumPy number. `memory` are buffers that no parameter is, and pointers lead to:
        `{"bytes": 16, "fields": [{"at": 0, "value": "&x"}]}`, `{"value": "&x+16"}`. `bounds` are iterations of loops, all of
        them or by label or line; `check` has checks by name, `expect` is the verdict that is right, or several; `name` is the
        test's in reports. `others` are what else the file may say: `entry`, `grid`, `cluster`, `block`, `dynamic_shared`,
        `device`, `nvcc`, `kernel` (a list of dictionaries, for several kernels), `progress`, `resident`, and the checks
        `forall`, `exists`, `never`, `race_free`, `no_deadlock`, `terminates`, `no_trap`, also together as `check`.

        Raises `ptxcore.diagnostics.InputError` with everything that is wrong, as `ptxmm check` would say it.
        """
        texts: dict[str, str] = {}
        tree: dict[str, Any] = {"check": plain_value(check or {}), "expect": plain_value(expect)}
        if ptx is not None:
            tree["ptx"] = _module(ptx, texts)
        for key, given in (("params", params), ("memory", memory)):
            if given is not None:
                tree[key] = {name: table_of_value(value) for name, value in dict(given).items()}
        if bounds is not None:
            tree["bounds"] = {"default": bounds} if isinstance(bounds, int) else dict(bounds)
        for key, value in others.items():
            if value is not None:
                place = tree["check"] if key in (*QUANTIFIERS, *PROPERTIES) else tree
                place[key] = plain_value(value)
        if not tree["check"]:
            del tree["check"]
        self.test: KernelTest = KernelFile.of(tree, name, texts).test()

    def __repr__(self) -> str:
        return f"Kernel({self.test.identity}: {', '.join(map(str, self.test.checks))})"

    def check(
        self,
        model: str | Model = "ptx-9.0",
        *,
        unroll: int = 4,
        timeout: float | None = None,
        engine: str = "solve",
        backend: str | None = None,
        all_elements: bool = False,
        races: bool = False,
        why: bool = False,
        checks: Iterable[str] = (),
        progress: str | None = None,
        resident: int | None = None,
        options: Iterable[str] = (),
    ) -> Result:
        """Decides the test; `result.checks` has what became of each check. `model`, `unroll`, `timeout`, `engine`, `backend`,
        `races`, `why`, `checks`, `progress`, `resident` and `options` are those of `ptxmm.check`; with `all_elements` states
        list all elements of buffers."""
        return check_test(
            self.test, model, unroll=unroll, timeout=timeout, engine=engine, backend=backend,
            all_registers=all_elements, races=races, why=why, checks=checks, progress=progress,
            resident=resident, options=options,
        )  # fmt: skip


def _module(ptx: str | PathLike[str], texts: dict[str, str]) -> str:
    """The path of a module; a name for one that is given as text."""
    path = os.fspath(ptx)
    if "\n" not in path:
        return path
    texts[_INLINE] = path
    return _INLINE
