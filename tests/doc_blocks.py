"""The documentation's examples: which there are, and what they print today.

In README.md, CONTRIBUTING.md, the pages of docs/ and that of the kernel pairs, in order, each document in a folder of its own:

- a fenced block with `file=NAME` behind its language is a file of that name;
- a `console` block holds commands behind `$ ` and, below each, what it printed; `echo $?` shows the status of the
  command before it;
- a `python` block runs as a script, a `pycon` block as an interactive session;
- a picture `![...](pictures/NAME.svg)` is one that the commands above it write under that name;
- what stands between `<!-- NAME: generated -->` and `<!-- end -->` comes from the table of that name in the code.

Run as a script, this file writes what is printed now into the documents, all of them or those named (`cli.md`); times
that differ do not count.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxcore.isa.form import Form

ROOT = Path(__file__).resolve().parents[1]
GATE = ROOT / "tests" / "kernels" / "gate"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")), GATE / "README.md"]
MAN_PAGE = ROOT / "docs" / "ptxmm.1"  # made of the parser

for _where in ("support", "axioms/models", "axioms/dynamic", "ptxcore/semantics"):  # what tables are made by
    sys.path.append(str(ROOT / "tests" / _where))

_BLOCK = re.compile(r"^```(?P<language>\w*)(?: +(?P<rest>[^\n]*))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_GENERATED = re.compile(
    r"(?<=<!-- )(?P<name>[a-z-]+)(?P<open>: generated -->\n)(?P<body>.*?)(?=<!-- end -->)", re.DOTALL
)
_PICTURE = re.compile(r"!\[[^\]]*\]\((?P<path>pictures/[^)]+\.svg)\)")
_DEFECT = "ptxmm has a defect"
_TIME = re.compile(r"[ \t]*\b\d+(?:\.\d+)? m?s\b")
_SECONDS = re.compile(r'("seconds": |^Time \S+ | time=")[\d.]+', re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the words behind it, its text, and where that stands in the document."""

    language: str
    file: str | None
    body: str
    start: int
    line: int


def blocks(text: str) -> Iterator[Block]:
    for found in _BLOCK.finditer(text):
        words = dict(word.partition("=")[::2] for word in (found["rest"] or "").split())
        line = text.count("\n", 0, found.start()) + 1
        yield Block(found["language"], words.get("file"), found["body"], found.start("body"), line)


def masked(text: str) -> str:
    """`text` without what differs from run to run."""
    return _SECONDS.sub(r"\1T", _TIME.sub(" T", text))


class Session:
    """A folder in which the blocks of one document run, one after another; `scripts` has the commands."""

    def __init__(self, folder: Path, scripts: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.environment = {
            **os.environ,
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "0",  # lines of a page are as long as they are
            "PYTHONIOENCODING": "utf-8",
        }
        # Documents speak of the checkout as the folder they are in.
        for name in ("litmus", "examples", "docs"):
            (self.work / name).symlink_to(ROOT / name, target_is_directory=True)

    def write(self, block: Block) -> None:
        assert block.file is not None
        (self.work / block.file).write_text(block.body, encoding="utf-8")

    def console(self, body: str) -> str:
        """The block as it would look today."""
        commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        script = ["exec 2>&1"]
        for command in commands:
            # Each command sees the status of the one before it.
            script += [command, "status=$?; printf '\\036'; (exit $status)"]
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            cwd=self.work,
            env=self.environment,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            timeout=900,
            check=False,
        )
        outputs = done.stdout.split("\x1e")
        return "".join(f"$ {command}\n{output}" for command, output in zip(commands, outputs, strict=False))

    def script(self, body: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", body],
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            timeout=900,
            check=False,
        )

    def interactive(self, body: str, names: dict[str, object]) -> str:
        """What goes wrong in an interactive session; `names` are its variables, kept for the next block."""
        test = doctest.DocTestParser().get_doctest(body, names, "session", None, 0)
        report: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
        before = Path.cwd()
        os.chdir(self.work)
        try:
            runner.run(test, out=report.append, clear_globs=False)
        finally:
            os.chdir(before)
        names.update(test.globs)
        return "".join(report)


def pictures(text: str) -> list[str]:
    """The pictures that a document shows and its commands write, as paths of both."""
    return [found["path"] for found in _PICTURE.finditer(text)]


# Tables that come from the code.


def _base_names() -> str:
    from axioms.cat.names import BASE

    lines = []
    for kind, title in (("set", "Set"), ("relation", "Relation")):
        lines += [f"| {title} | Meaning |", "|---|---|"]
        lines += [f"| `{name}` | {base.meaning} |" for name, base in BASE.items() if base.kind == kind]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def _instructions() -> str:
    """The forms, a table for each file of the instruction set."""
    from importlib import import_module

    from ptxcore.isa.table import SECTIONS

    lines: list[str] = []
    for section in SECTIONS:
        module = import_module(f"ptxcore.isa.{section}")
        title = (module.__doc__ or section).split(".\n")[0].partition("\n")[0].rstrip(".")
        lines += [f"## {title}", "", "| Form | PTX | Target | Manual | Read | Checked | Executed | Explored |"]
        lines.append("|---|---|---|---|---|---|---|---|")
        lines += dict.fromkeys(_row(form) for form in module.FORMS)
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def _row(form: Form) -> str:
    types = "; ".join(" ".join(f".{t}" for t in slot.words) for slot in form.pattern.types if len(slot.words) > 1)
    syntax = form.shown().replace("|", "\\|")
    shown = f"`{syntax}`" + (f" with `{types}`" if types else "")
    if form.only:
        shown += f" ({form.only} only)"
    asked = {"": f"{form.version} {form.target}", **form.needs}
    versions, targets = [], []
    for condition, gate in asked.items():
        behind = f" (`{condition}`)" if condition else ""
        for alternative in gate.split("/"):
            words = alternative.split()
            versions += [w + behind for w in words if w[0].isdigit()]
            named = " ".join(w for w in words if not w[0].isdigit())
            targets += [named + behind] if named else []
    if form.until:
        versions.append(f"until {form.until}")
    executed = form.run is not None or form.kind in ("jump", "call", "nothing")
    cells = (
        shown,
        "; ".join(versions),
        "; ".join(targets),
        form.section,
        "yes",
        "yes",
        "yes" if executed else f"no: {form.untold}",
        _explored(form),
    )
    return f"| {' | '.join(cells)} |"


def _explored(form: Form) -> str:
    from ptxcore.machine.lower.executable import explored, explored_in_kernels
    from ptxmm.kernels.watched_run import BY_RUNS_ALONE

    if form.mnemonic in BY_RUNS_ALONE and form.run is not None and not explored(form):
        return "by runs"
    in_kernels = explored_in_kernels(form) or form.kind in ("jump", "call") or form.mnemonic in _OF_THE_STACK
    return "yes" if explored(form) else "in kernels" if in_kernels else "no"


#: What is about memory on the stack, which only threads of kernels have.
_OF_THE_STACK = ("alloca", "stackrestore", "stacksave")


def _differences() -> str:
    """Where ptxas and the manual disagree, as the code that judges states it."""
    from importlib import import_module
    from pkgutil import iter_modules

    import ptxcore.check
    import ptxcore.isa

    found = []
    for package in (ptxcore.isa, ptxcore.check):
        for name in iter_modules(package.__path__):
            found += getattr(import_module(f"{package.__name__}.{name.name}"), "DIFFERENCES", ())
    lines = ["| Manual | ptxas 13.0 | The manual | Followed |", "|---|---|---|---|"]
    for d in sorted(dict.fromkeys(found), key=lambda d: ([int(n) for n in d.section.split(".")], d.ptxas)):
        cells = (d.section, d.ptxas, d.manual, "both, by mode" if d.checked else "neither: as the text says")
        lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    return "\n".join(lines) + "\n"


def _findings(title: str) -> str:
    """Codes of findings, with what they are given for."""
    from ptxcore import findings

    codes: dict[str, str] = getattr(findings, title.upper())
    return (
        "\n".join(["| Code | Given for |", "|---|---|", *(f"| `{c}` | {what} |" for c, what in codes.items())]) + "\n"
    )


def _gpu_differences() -> str:
    from gpu.known import KNOWN

    lines = ["| Manual | Instructions | Where | Here | Hardware | The manual |", "|---|---|---|---|---|---|"]
    for known in KNOWN:
        names = ", ".join(f"`{name}`" for name in known.mnemonics.split())
        manual = "leaves it open" if known.kind == "open" else "is followed here"
        lines.append(f"| {known.section} | {names} | {known.inputs} | {known.ours} | {known.hardware} | {manual} |")
    return "\n".join(lines) + "\n"


def _gpu_left_out() -> str:
    from collections import Counter

    import reference
    from gpu.left_out import NOWHERE, is_whole, nowhere

    forms = reference.all_forms()
    why = Counter(nowhere(form) for form in forms)
    whole, alone = sum(map(is_whole, forms)), sum(not is_whole(form) and not nowhere(form) for form in forms)
    sections = {reason: section for section, reason in NOWHERE.items()}
    lines = [
        f"Of {len(forms)} forms that are executed, {alone} have kernels of their own, {whole} stand in whole kernels, and "
        f"{sum(count for reason, count in why.items() if reason)} are compared nowhere:", "",
        "| Forms | Manual | Why |", "|---|---|---|",
        *(f"| {count} | {sections.get(reason, '')} | {reason} |" for reason, count in why.most_common() if reason),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _manual(chapter: str) -> str:
    import manual_map

    return manual_map.table(getattr(manual_map, chapter))


def _coverage(what: str) -> str:
    import coverage_map

    table: Callable[[], str] = getattr(coverage_map, f"table_of_{what}")
    return table()


def _readings() -> str:
    from axioms.models.options import OPTIONS

    rows = [f"| `--{name.replace('=', ' ')}` | {what} |" for name, what in OPTIONS.items()]
    return "\n".join(["| Option | With it |", "|---|---|", *rows]) + "\n"


def _families() -> str:
    """The cycles at which `ptxmm compare --find` looks."""
    from ptxmm.comparing.universe import FAMILIES

    rows = [f"| `{f.edges}` | {f.size} | {f.mode} | {f.places} |" for f in FAMILIES]
    return "\n".join(["| Edges | At most | Mode | Places |", "|---|---|---|---|", *rows]) + "\n"


def _answers() -> str:
    """What each check answers that no execution decides, by what was looked at; and what decides it."""
    from ptxmm.answers import CHECKS, CheckAnswer, Coverage, answer

    words = {
        CheckAnswer.HOLDS: "`ok`",
        CheckAnswer.BOUNDED: "`bounded`",
        CheckAnswer.FAILS: "`no`",
        CheckAnswer.UNDECIDED: "`undecided`",
    }
    titles = ["Check", "Decided by", "Then", *(c.value for c in Coverage)]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for kind, (existential, shown_by) in CHECKS.items():
        cells = [words[answer(c, shown=False, existential=existential)] for c in Coverage]
        then = words[answer(Coverage.COMPLETE, shown=True, existential=existential)]
        lines.append("| " + " | ".join([f"`{kind}`", shown_by, then, *cells]) + " |")
    return "\n".join(lines) + "\n"


def _passes() -> str:
    from axioms.passes import PASSES

    rows = [f"| `{p.name}` | {p.says} | [{p.home}](../{p.home}) |" for p in PASSES]
    return "\n".join(["| Pass | It | Where, and why it is sound |", "|---|---|---|", *rows]) + "\n"


def _head(path: str) -> str:
    """What a file says that it is for: the first paragraph of its docstring."""
    import ast

    head = (ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    return " ".join(head.split())


def _rooms(folder: str) -> str:
    """The rooms of a folder, from the lowest, with what their heads say."""
    from test_rooms import ORDERS

    rows = []
    for room in ORDERS[folder].split():
        base = folder.replace(".", "/") + "/" + room
        path = base + ("/__init__.py" if (ROOT / base).is_dir() else ".py")
        shown = base if (ROOT / base).is_dir() else path
        rows.append(f"| [{shown}](../{shown}) | {_head(path)} |")
    return "\n".join(["| Room | What it is for |", "|---|---|", *rows]) + "\n"


def _files_of_runs() -> str:
    """The folders of `axioms/dynamic` and their files, from the lowest, with what their heads say."""
    from test_rooms import ORDERS

    rows = []
    for folder in ORDERS["axioms.dynamic"].split():
        base = f"axioms/dynamic/{folder}"
        rows.append(f"| **[{folder}](../{base})** | {_head(f'{base}/__init__.py')} |")
        paths = (f"{base}/{file}.py" for file in ORDERS[f"axioms.dynamic.{folder}"].split())
        rows += [f"| [{Path(path).name}](../{path}) | {_head(path)} |" for path in paths]
    return "\n".join(["| File | What it is for |", "|---|---|", *rows]) + "\n"


def _gate() -> str:
    """The kernel pairs, from the first lines and the variants of their tests."""
    import tomllib
    from itertools import takewhile

    rows = []
    for path in sorted(GATE.glob("*/test.toml")):
        text = path.read_text(encoding="utf-8")
        head = " ".join(line[2:] for line in takewhile(lambda line: line.startswith("# "), text.splitlines()))
        what, _, wrong = head.partition("; buggy: ")
        assert wrong, f"{path} does not begin with '# what it is; buggy: what is wrong'"
        expected = {v["name"]: v.get("expect", "ok") for v in tomllib.loads(text)["variant"]}
        shown = {name: e if isinstance(e, str) else "|".join(e) for name, e in expected.items()}
        verdicts = "; ".join(f"{name} `{e}`" for name, e in shown.items()).replace("|", "` or `")
        cells = (f"[{path.parent.name}]({path.parent.name})", what, wrong, verdicts)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    title = ["| Kernel | What it is | What is wrong in `buggy` | Verdicts |", "|---|---|---|---|"]
    return "\n".join([*title, *rows]) + "\n"


def _planted() -> str:
    """What published kernels are with mistakes planted in them."""
    import test_published_warpgroups

    return test_published_warpgroups.table()


def _clauses(folder: str) -> str:
    """What the manual asks for in the order of tensor cores, with the kernel of the library for each clause."""
    import tensor_clauses

    return tensor_clauses.table(folder)


def _hardware() -> str:
    from ptxmm.gpu.page import table

    return table([p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs" / "measured").glob("*.json"))])


def _pages(what: str) -> str:
    """The index of the pages that are made as a whole."""
    import doc_pages

    table: Callable[[], str] = getattr(doc_pages, f"table_of_{what}")
    return table()


def _reference(what: str) -> str:
    """A page of the reference."""
    import doc_reference

    made: Callable[[], str] = getattr(doc_reference, what)
    return made()


TABLES: dict[str, Callable[[], str]] = {
    "commands": lambda: _reference("commands"),
    "python": lambda: _reference("python"),
    "limits": lambda: _reference("limits"),
    "axioms": lambda: _pages("axioms"),
    "mistakes": lambda: _pages("mistakes"),
    "base-names": _base_names,
    "instructions": _instructions,
    "differences": _differences,
    "errors": lambda: _findings("errors"),
    "warnings": lambda: _findings("warnings"),
    "gpu-differences": _gpu_differences,
    "gpu-left-out": _gpu_left_out,
    "chapter-eight": lambda: _manual("CHAPTER_8"),
    "chapter-nine": lambda: _manual("CHAPTER_9"),
    "readings": _readings,
    "coverage-of-clauses": lambda: _coverage("clauses"),
    "coverage-of-readings": lambda: _coverage("readings"),
    "coverage-of-instructions": lambda: _coverage("instructions"),
    "answers": _answers,
    "families": _families,
    "passes": _passes,
    "gate": _gate,
    "planted": _planted,
    "clauses-of-wgmma": lambda: _clauses("wgmma"),
    "clauses-of-tcgen": lambda: _clauses("tcgen05"),
    "hardware": _hardware,
    "rooms": lambda: _rooms("axioms"),
    "files-of-runs": _files_of_runs,
    "rooms-of-the-machine": lambda: _rooms("ptxcore.machine"),
}


def generated(text: str) -> Iterator[tuple[str, str, str]]:
    """Each generated part: its name, what stands there, and what should."""
    for found in _GENERATED.finditer(text):
        yield found["name"], found["body"], TABLES[found["name"]]()


# Writing the documents anew.


def updated(text: str, session: Session) -> str:
    pieces, at = [], 0
    for block in blocks(text):
        if block.file is not None:
            session.write(block)
        elif block.language == "console":
            today = session.console(block.body)
            if _DEFECT in today:
                raise SystemExit(f"a command of the document shows a defect, which is not written into it:\n{today}")
            if masked(today) != masked(block.body):
                pieces += [text[at : block.start], today]
                at = block.start + len(block.body)
    pieces.append(text[at:])
    return _GENERATED.sub(lambda m: f"{m['name']}{m['open']}{TABLES[m['name']]()}", "".join(pieces))


def main(names: Sequence[str]) -> None:
    import warm

    with warm.commands() as scripts:
        for document in (d for d in DOCUMENTS if not names or d.name in names):
            renew(document, scripts)
    if not names or MAN_PAGE.name in names:
        from ptxmm.cli.man import page
        from ptxmm.cli.outline import outline

        MAN_PAGE.write_text(page(outline()), encoding="utf-8")


def renew(document: Path, scripts: Path) -> None:
    """Writes a document with what its commands, behind `scripts`, print and draw today."""
    text = document.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder), scripts)
        today = updated(text, session)
        for path in pictures(text):
            (document.parent / path).parent.mkdir(parents=True, exist_ok=True)
            if (session.work / path).exists():
                shutil.copyfile(session.work / path, document.parent / path)
            else:
                print(f"{document.relative_to(ROOT)}: no command writes {path}")
    if today != text:
        document.write_text(today, encoding="utf-8")
        print(f"{document.relative_to(ROOT)} is written anew")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(sys.argv[1:])
