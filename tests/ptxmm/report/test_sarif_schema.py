"""SARIF that is written is valid by the schema of the standard, where that is at hand: it is no part of the repository.

`PTXMM_SARIF_SCHEMA` names the file `sarif-schema-2.1.0.json` of OASIS; without it, `sarif_shape` asks the same of the output.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ptxmm.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = os.environ.get("PTXMM_SARIF_SCHEMA", "")
COMMANDS = (
    ["check", str(ROOT / "examples"), "--jobs", "1"],
    ["check", str(ROOT / "litmus" / "library" / "message-passing"), "--races"],
    ["repair", f"{ROOT / 'examples' / 'lock.toml'}:weak"],
    ["lint", str(ROOT / "examples" / "lock.ptx")],
    ["lint", str(ROOT / "docs" / "mistakes" / "lock-no-fences" / "wrong.cu")],
)


@pytest.mark.long
@pytest.mark.skipif(not SCHEMA, reason="PTXMM_SARIF_SCHEMA names no schema of SARIF")
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: Path(words[1]).name)
def test_what_is_written_is_valid_by_the_schema(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(Path(SCHEMA).read_text(encoding="utf-8"))
    main([*words, "--format", "sarif"])
    written = json.loads(capsys.readouterr().out)
    checker = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
    assert [f"{list(error.path)}: {error.message}" for error in checker.iter_errors(written)] == []
