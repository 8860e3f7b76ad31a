"""What is mistyped on the command line is told with what it is most like."""

from __future__ import annotations

import pytest

from ptxmm.cli.main import main


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("check --tmeout 3 x.litmus", "did you mean '--timeout'?"),
        ("check --tmeout=3 x.litmus", "did you mean '--timeout'?"),
        ("repair --al x.litmus", "did you mean '--all'?"),
        ("weaken --foral 'x == 1' x.cu", "did you mean '--forall'?"),
        ("run --gird 3 x.cu", "did you mean '--grid'?"),
        ("chek x.litmus", "did you mean 'check'?"),
        ("check --check rac_free x.litmus", "did you mean 'race_free'?"),
        ("check --nothing-like-it x.litmus", "ptxmm --help tells what may be said"),
        ("check --timeout 3s --unroll -1 x.litmus", "ptxmm check --help tells what may be said"),
        (
            "check -model sc.cat x.litmus",
            "ptxmm --help tells what may be said",
        ),  # herd's word, which is answered for itself
    ],
)
def test_the_hint_names_what_is_closest(line: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"\n    hint: {hint}\n")
