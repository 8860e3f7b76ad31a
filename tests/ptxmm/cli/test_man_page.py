"""The man page: it says what the parser takes, and man shows it without a complaint."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from doc_blocks import MAN_PAGE as PAGE

from ptxmm.cli.man import page
from ptxmm.cli.outline import outline


def test_the_page_is_that_of_the_parser() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(outline()), "run python tests/doc_blocks.py ptxmm.1"


def test_man_shows_it_without_a_warning() -> None:
    man = shutil.which("man")
    if man is None:
        pytest.skip("no man on this machine")
    environment = {**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [man, "--warnings", "-l", str(PAGE)], capture_output=True, encoding="utf-8", env=environment, check=True
    )
    assert done.stderr == ""
    shown = " ".join(done.stdout.split())
    for command in outline():
        assert f"PTXMM {command.name.upper()}" in shown
        for argument in command.arguments:
            assert all(name in shown for name in argument.names)
    assert "'counter[0] == 2'" in done.stdout  # as somebody may copy it


def test_no_line_of_the_page_is_taken_for_a_request() -> None:
    known = {".TH", ".SH", ".SS", ".TP", ".PP", ".br", ".nf", ".fi"}
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert {line.split()[0] for line in lines if line.startswith((".", "'"))} == {*known, '.\\"'}
