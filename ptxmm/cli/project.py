"""Where a project says how its tests are checked."""

from __future__ import annotations

import os


def project_file() -> str | None:
    """The `pyproject.toml` of this folder, or of the nearest one above that has any, if it speaks of ptxmm. Raises OSError."""
    try:
        folder = os.getcwd()
    except OSError:  # it was removed
        return None
    while True:
        path = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read().replace(b" ", b"").replace(b'"', b"").replace(b"'", b"")
            return path if b"tool.ptxmm" in data or (b"[tool]" in data and b"ptxmm" in data) else None
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
