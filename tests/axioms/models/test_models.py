"""The models that ship, and those that users bring."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import ptxmm
from axioms import models
from axioms.cat.names import BASE
from ptxcore import sources
from ptxcore.diagnostics import InputError

MP = """PTX MP
{ x=0; f=0; }
 P0@cta 0 | P1@cta 1 ;
 st.weak x, 1 | ld.acquire.gpu r0, f ;
 st.release.gpu f, 1 | ld.weak r1, x ;
~exists (1:r0 == 1 /\\ 1:r1 == 0)
"""
SC = "let fr = rf^-1; co\nacyclic po | rf | co | fr as sc\n"


@pytest.mark.parametrize("name", models.names())
def test_every_shipped_model_loads_and_decides(name: str) -> None:
    model = models.load(name)
    assert model.name == name and model.title
    assert len({a.name for a in model.axioms}) >= 5
    assert all("@" not in a.name for a in model.axioms), "an axiom without a name explains nothing"
    assert ptxmm.check(ptxmm.parse(MP), name).verdict == "ok"
    assert models.load(name) is model


def test_models_are_named_by_version() -> None:
    assert models.names() == ["ptx-6.0", "ptx-7.5", "ptx-9.0"]
    assert models.names()[-1] == models.DEFAULT


def test_a_users_model_is_taken_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sc.cat").write_text(SC)
    weak = tmp_path / "weak.cat"
    weak.write_text("empty rf \\ loc as sane\n")
    assert ptxmm.check(ptxmm.parse(MP), str(tmp_path / "sc.cat")).verdict == "ok"
    assert ptxmm.check(ptxmm.parse(MP), str(weak)).verdict == "no"
    monkeypatch.chdir(tmp_path)
    assert ptxmm.check(ptxmm.parse(MP), "sc.cat").verdict == "ok"


def test_a_model_may_include_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "orders.cat").write_text("let fr = rf^-1; co\nlet com = rf | co | fr\n")
    main = tmp_path / "main.cat"
    main.write_text('"mine"\ninclude "stdlib.cat"\ninclude "orders.cat"\nacyclic po | com as sc\n')
    assert models.load(str(main)).title == "mine"
    assert ptxmm.check(ptxmm.parse(MP), str(main)).verdict == "ok"


@pytest.mark.parametrize("name", ["none.cat", "\0", "x" * 5000, "."])
def test_what_cannot_be_included_is_told(name: str, tmp_path: Path) -> None:
    main = tmp_path / "main.cat"
    main.write_text(f'include "{name}"\nacyclic po as sc\n')
    with pytest.raises(InputError, match=r"main\.cat:1:9: error: cannot include"):
        models.load(str(main))


def test_a_mistake_in_an_included_file_is_told_there(tmp_path: Path) -> None:
    (tmp_path / "orders.cat").write_text("let fr = rf^-1; co\n\nlet com = rf | oc\n")
    main = tmp_path / "main.cat"
    main.write_text('include "orders.cat"\nacyclic po | com as sc\n')
    with pytest.raises(InputError, match=r"orders\.cat:3:16: error: unknown set or relation 'oc'"):
        models.load(str(main))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ptx-9.1", "unknown model 'ptx-9.1'"),
        ("../models/ptx-9.0", "unknown model"),
        ("", "unknown model ''"),
        ("no-such.cat", "cannot read the model: No such file or directory"),
        (".cat", "cannot read the model"),
        ("\0.cat", "cannot read the model"),
        ("x" * 5000 + ".cat", "cannot read the model: File name too long"),
        ("x" * 5000, "unknown model"),
    ],
)
def test_names_that_are_none_are_refused(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        models.load(name)
    assert message in caught.value.render()


def test_a_slip_in_a_models_name_gets_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        models.load("ptx9.0")
    assert caught.value.diagnostics[0].hint == "did you mean 'ptx-9.0'?"


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.cat").write_bytes(b"\xff\xfe\0")
    (tmp_path / "folder.cat").mkdir()
    for name in ("binary.cat", "folder.cat"):
        with pytest.raises(InputError, match="cannot read the model"):
            models.load(str(tmp_path / name))


def test_an_axiom_that_forbids_nothing_is_how_to_ask_for_everything() -> None:
    from axioms.cat.model import compile_model

    result = ptxmm.check(ptxmm.parse(MP), compile_model("nothing", "let a = po\nempty 0"))
    assert result.verdict == "no" and result.observation == "sometimes"


def test_what_lies_elsewhere_is_not_included(tmp_path: Path) -> None:
    """A message shows the line that is wrong: nobody reads other people's files that way."""
    folder, outside = tmp_path / "models", tmp_path / "secret.cat"
    (folder / "below").mkdir(parents=True)
    outside.write_text("a secret\n")
    (folder / "link.cat").symlink_to(outside)
    (folder / "below" / "orders.cat").write_text("let fr = rf^-1; co\n")
    main = folder / "main.cat"
    for name in (str(outside), "../secret.cat", "link.cat", "below/../../secret.cat"):
        main.write_text(f'include "{name}"\nacyclic po as sc\n')
        with pytest.raises(InputError, match="it does not lie in the model's folder") as caught:
            models.load(str(main))
        assert "a secret" not in caught.value.render()
    main.write_text('include "below/orders.cat"\nacyclic po | fr as sc\n')
    assert models.load(str(main)).axioms


def test_files_may_include_files_but_not_themselves(tmp_path: Path) -> None:
    (tmp_path / "a.cat").write_text('include "b.cat"\nlet com = rf | co | fr\n')
    (tmp_path / "b.cat").write_text("let fr = rf^-1; co\n")
    main = tmp_path / "main.cat"
    main.write_text('include "a.cat"\nacyclic po | com as sc\n')
    assert models.load(str(main)).axioms
    (tmp_path / "b.cat").write_text('include "a.cat"\n')
    with pytest.raises(InputError, match="it is included by itself"):
        models.load(str(main))


def test_a_file_with_the_name_of_a_standard_one_is_read(tmp_path: Path) -> None:
    main = tmp_path / "main.cat"
    main.write_text('include "cos.cat"\nacyclic po | com as sc\n')
    with pytest.raises(InputError, match="unknown set or relation 'com'"):
        models.load(str(main))
    (tmp_path / "cos.cat").write_text("let com = rf | co | rf^-1; co\n")
    assert models.load(str(main)).axioms
    main.write_text('include "elsewhere/cos.cat"\nacyclic po as sc\n')
    with pytest.raises(InputError, match="there is no such file"):
        models.load(str(main))


@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_a_model_is_read_in_bounded_time_and_memory(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.cat"
    if kind == "pipe":
        os.mkfifo(path)
        monkeypatch.setattr(sources, "PATIENCE", 0.05)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"cannot read the model: (nothing came out of it|longer than 256 KiB)"):
        models.load(str(path))


@pytest.mark.part(4)
@pytest.mark.parametrize("name", BASE)
def test_every_base_name_can_be_used_with_both_engines(name: str) -> None:
    from axioms.cat.model import compile_model

    used = f"[{name}]; po" if BASE[name].kind == "set" else name
    text = f"let fr = rf^-1; co\nacyclic po | rf | co | fr as sc\nempty ({used}) & rf & po as odd\n"
    test = ptxmm.parse(MP)
    solved = ptxmm.check(test, compile_model("base", text))
    assert solved.states == ptxmm.check(test, compile_model("base", text), engine="enumerate").states
    assert solved.states
