"""How kernel tests are called."""

from __future__ import annotations


def identity(path: str, variant: str) -> str:
    """How a test is called in every report: `FILE:NAME`, and `FILE` where a file is one test."""
    return f"{path}:{variant}" if variant else path
