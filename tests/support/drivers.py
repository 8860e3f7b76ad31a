"""The driver whose GPUs are our own machine (`tests/gpu/emulating_driver.c`), as a library."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[1] / "gpu" / "emulating_driver.c"


def header() -> Path | None:
    """The folder that has cuda.h: of a package, or of an installation."""
    found = find_spec("nvidia")
    places = [Path(place) / "cu13" / "include" for place in (found.submodule_search_locations or ())] if found else []
    return next((p for p in (*places, Path("/usr/local/cuda/include")) if (p / "cuda.h").is_file()), None)


def emulating(folder: Path) -> str:
    """The library, built in a folder; skips where it cannot be."""
    compiler, include = shutil.which("cc") or shutil.which("gcc"), header()
    if compiler is None or include is None:
        pytest.skip("no C compiler here" if compiler is None else "no cuda.h here")
    path = folder / "libemulated.so"
    words = [compiler, "-shared", "-fPIC", "-Wall", "-Werror", f"-I{include}", "-o", path, _SOURCE]
    subprocess.run(words, check=True)
    return str(path)
