"""ptxmm decides what concurrent PTX code may do.

    import ptxmm
    test = ptxmm.load("mp.litmus")              # or ptxmm.parse(text)
    result = ptxmm.check(test, model="ptx-9.0")
    result.verdict, result.states, result.witnesses[0].svg()

See `ptxmm.api` for what these take, give and raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptxcore.diagnostics import InputError
    from ptxmm.api import check, executions, load, models, parse
    from ptxmm.comparing.comparison import compare, find_difference
    from ptxmm.images import Surface, Texture, TextureSampler
    from ptxmm.kernel import Kernel
    from ptxmm.linting import lint
    from ptxmm.multimem import Multimem
    from ptxmm.result import Result, Witness
    from ptxmm.running import Run, run
    from ptxmm.tensors import TensorMap

__version__ = "0.1.0"
__all__ = [
    "InputError",
    "Kernel",
    "Multimem",
    "Result",
    "Run",
    "Surface",
    "TensorMap",
    "Texture",
    "TextureSampler",
    "Witness",
    "__version__",
    "check",
    "compare",
    "executions",
    "find_difference",
    "lint",
    "load",
    "models",
    "parse",
    "run",
]

_HOMES = {
    "InputError": "ptxcore.diagnostics",
    "Kernel": "ptxmm.kernel",
    "Multimem": "ptxmm.multimem",
    "Result": "ptxmm.result",
    "Run": "ptxmm.running",
    "TensorMap": "ptxmm.tensors",
    "Surface": "ptxmm.images",
    "Texture": "ptxmm.images",
    "TextureSampler": "ptxmm.images",
    "Witness": "ptxmm.result",
    "check": "ptxmm.api",
    "compare": "ptxmm.comparing.comparison",
    "executions": "ptxmm.api",
    "find_difference": "ptxmm.comparing.comparison",
    "lint": "ptxmm.linting",
    "load": "ptxmm.api",
    "models": "ptxmm.api",
    "parse": "ptxmm.api",
    "run": "ptxmm.running",
}


def __getattr__(name: str) -> Any:
    """Imports a name on its first use, so that `import ptxmm` itself costs nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ptxmm' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
