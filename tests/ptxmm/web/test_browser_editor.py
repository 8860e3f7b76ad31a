"""The editor of the explorer, as a person uses it: errors as one types, completion, undo, files; no stale answer."""

from __future__ import annotations

import json
import re
from typing import Any

from browsing import FIRST, ROOT, caret, open_example, settled, table, verdicts, write

LIBRARY = ROOT / "litmus" / "library"
TEXT = (LIBRARY / f"{FIRST}.litmus").read_text(encoding="utf-8")


def text_of(page: Any) -> str:
    return str(page.locator("textarea.code:visible").input_value())


def test_an_error_is_shown_at_its_line_while_one_types_and_goes_when_it_is_mended(page: Any) -> None:
    at = TEXT.index("st.release")
    caret(page, at + len("st.rel"))
    page.keyboard.type("q")
    page.locator(".squiggle").wait_for()
    settled(page)
    assert page.locator(".squiggle").inner_text() in "st.relqease.gpu.u32"
    assert page.locator(".gutter [data-severity=error]").inner_text().strip() == "6"
    problem = page.locator(".problem")
    assert "Error, line 6" in problem.inner_text()
    assert set(verdicts(page).values()) == {"error"}
    assert page.locator("#states").is_hidden() and page.locator("#execution").is_hidden()
    assert page.locator("textarea.code").get_attribute("aria-invalid") == "true"
    page.keyboard.press("Backspace")
    page.locator(".squiggle").wait_for(state="detached")
    settled(page)
    assert set(verdicts(page).values()) == {"ok"} and page.locator("#problems").is_hidden()


def test_a_problem_jumps_to_its_place_by_click_and_by_key(page: Any) -> None:
    wrong = TEXT.replace("st.weak.u32", "𝕊.weak.u32", 1).replace("ld.weak", "ld.wweak")
    write(page, wrong)
    page.locator(".problem").first.wait_for()
    page.locator(".problem").first.click()
    area = page.locator("textarea.code")
    selected = area.evaluate("area => [area.selectionStart, area.value.slice(area.selectionStart, area.selectionEnd)]")
    line = area.evaluate("area => area.value.slice(0, area.selectionStart).split('\\n').length")
    assert f"line {line}" in page.locator(".problem").first.inner_text() and selected[1]
    assert page.locator(".squiggle").first.inner_text() == selected[1]
    caret(page, 0)
    page.keyboard.press("F8")
    assert area.evaluate("area => area.selectionStart") == selected[0]


def test_completion_is_driven_by_keys_and_undone(page: Any) -> None:
    end = TEXT.index("\n", TEXT.index("ld.weak"))
    caret(page, end)
    page.keyboard.type("\n ld.acq")
    words = page.get_by_role("listbox", name="Completions")
    words.wait_for()
    area = page.locator("textarea.code")
    chosen = area.get_attribute("aria-activedescendant")
    assert page.locator(f"[id='{chosen}']").get_attribute("aria-selected") == "true"
    labels = words.locator(".label").all_inner_texts()
    assert labels and all(label.startswith("ld.acq") for label in labels)
    wanted = labels[0]
    if len(labels) > 1:
        page.keyboard.press("ArrowDown")
        wanted = labels[1]
        assert area.get_attribute("aria-activedescendant") != chosen
    page.keyboard.press("Enter")
    words.wait_for(state="hidden")
    assert f"\n {wanted}" in text_of(page) and area.get_attribute("aria-activedescendant") is None
    page.keyboard.press("Control+z")
    assert text_of(page) == TEXT[:end] + "\n ld.acq" + TEXT[end:]
    page.keyboard.press("Control+Space")
    words.wait_for()
    page.keyboard.press("Escape")
    words.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"


def test_an_answer_to_an_older_text_is_never_shown(page: Any) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        asked = json.loads(route.request.post_data)
        if "held back" in asked["text"]:
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/check", hold)
    caret(page, TEXT.index("The acquire"))
    page.keyboard.insert_text("held back ")
    page.wait_for_function("() => document.querySelector('.message')?.innerText.includes('Checking')")
    while not held:
        page.wait_for_timeout(20)
    assert page.locator(".card").count() == 0, "the verdict of the text before still stands there"
    page.keyboard.press("Control+z")
    page.locator(".card.ok").wait_for()
    settled(page)
    wrong = {"models": [{"model": "ptx-9.0", "verdict": "no", "headline": "stale", "states": []}], "diagnostics": []}
    held[0].fulfill(json=wrong)
    page.wait_for_timeout(100)
    assert verdicts(page) == {"ptx-9.0": "ok"} and "stale" not in page.content()


def test_the_layer_draws_every_text_as_it_is(page: Any) -> None:
    """All words that are coloured, put together, are the text: for the library, models, modules and kernel tests."""
    texts: list[tuple[str, str]] = [
        ("litmus", path.read_text(encoding="utf-8")) for path in sorted(LIBRARY.rglob("*.litmus"))
    ]
    for kind, pattern in (("cat", "axioms/models/*.cat"), ("ptx", "examples/*.ptx"), ("kernel", "examples/*.toml")):
        texts += [(kind, path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob(pattern))]
    texts += [(kind, "(* open /* \"\n'\t𝕊 @ %\n:|;]\n") for kind in ("litmus", "ptx", "cat", "kernel")]
    seen = page.evaluate(
        """async texts => {
          const { tokens } = await import('/static/words.js');
          return texts.map(([kind, text]) => {
            const names = new Set();
            let state = '', top = true;
            const lines = text.split('\\n').map(line => {
              const [found, ends] = tokens(kind, line, state, top);
              state = ends;
              top = top && found.every(([name, part]) => name === 'comment' || !part.trim());
              for (const [name] of found) names.add(name);
              return found.map(([, part]) => part).join('');
            });
            return [lines.join('\\n') === text, [...names]];
          });
        }""",
        texts,
    )
    assert [kind for (kind, _), (same, _) in zip(texts, seen, strict=True) if not same] == []
    first = page.evaluate(
        """async lines => {
          const { tokens } = await import('/static/words.js');
          let state = '';
          return lines.map(line => {
            const [found, ends] = tokens('ptx', line, state, false);
            state = ends;
            return found.filter(([name]) => name === 'instruction').map(([, part]) => part);
          });
        }""",
        ["\t.loc\t1 15 0", "ld.global.u32 %r1,", "  [x]; @%p bra $L; $L: ret;", "/* st.u32", "*/ bar.sync 0;"],
    )
    assert first == [[], ["ld.global.u32"], ["bra", "ret"], [], ["bar.sync"]]
    for kind in ("litmus", "ptx", "cat", "kernel"):
        named = [set(names) for (one, _), (_, names) in zip(texts, seen, strict=True) if one == kind][:-1]
        assert named and all("instruction" in names or kind == "kernel" for names in named), kind
        assert len(set().union(*named)) > 4


def test_every_colour_of_the_editor_can_be_read(visitor: Any) -> None:
    """The contrast of each class of words with the paper is at least 4.5, in light and dark."""
    page = visitor.page()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        low = page.evaluate(
            """() => {
              const shade = colour => {
                const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255);
                const [r, g, b] = parts.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
              };
              const layer = document.querySelector('.layer');
              const paper = shade(getComputedStyle(document.getElementById('editor-pane')).backgroundColor);
              const names = ['keyword', 'label', 'guard', 'title', 'instruction', 'register', 'number', 'string', 'comment',
                'thread', 'operator'];
              return names.map(name => {
                const word = document.createElement('span');
                word.className = `t-${name}`;
                layer.append(word);
                const ink = shade(getComputedStyle(word).color);
                word.remove();
                return [name, (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)];
              }).filter(([, contrast]) => contrast < 4.5);
            }"""
        )
        assert low == [], scheme


def test_a_kernel_test_brings_its_module_in_a_tab(page: Any) -> None:
    folder = ROOT / "examples"
    text, module = ((folder / name).read_text(encoding="utf-8") for name in ("lock.toml", "lock.ptx"))
    lock = {"text": text, "kind": "kernel", "files": {"lock.ptx": module}}
    listed = [{"topic": "kernels", "name": "lock", "path": "kernels/lock", "about": "", "kind": "kernel"}]
    page.route("**/api/examples", lambda route: route.fulfill(json=listed))
    page.route("**/api/examples/kernels/lock", lambda route: route.fulfill(json=lock))
    open_example(page, "lock")
    assert page.get_by_role("tab").all_inner_texts() == ["Kernel test", "lock.ptx"]
    assert page.locator("#kind").input_value() == "kernel"
    variants = page.get_by_label("Variant").locator("option").all_inner_texts()
    assert variants[:2] == ["correct", "weak"]
    page.get_by_label("Variant").select_option("weak")
    settled(page)
    page.get_by_role("tab", name="lock.ptx").click()
    assert ".version" in text_of(page)
    at = text_of(page).index(".visible .entry")
    caret(page, at)
    page.keyboard.type("x ")
    page.locator(".problem").first.wait_for()
    assert "in lock.ptx" in page.locator(".problem").first.inner_text()
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    page.locator(".card.no").wait_for()
    page.get_by_role("tab", name="Kernel test").click()
    caret(page, 0)
    page.keyboard.type("[")
    page.locator(".card.error").wait_for()
    page.keyboard.press("Backspace")  # once it can be read again it is still the chosen variant that is decided
    page.locator(".card:not(.error)").wait_for()
    assert page.get_by_label("Variant").input_value() == "weak"
    assert re.fullmatch("no: .*:weak - ptxmm", page.title())


def test_a_model_of_ones_own_answers_beside_the_others(page: Any) -> None:
    page.get_by_role("button", name="Models").click()
    page.get_by_role("checkbox", name="Your model").check()
    page.keyboard.press("Escape")
    page.locator(".card[data-model=yours]").wait_for()
    settled(page)
    assert verdicts(page) == {"ptx-9.0": "ok", "yours": "ok"}
    write(page, '"nothing is forbidden"\nlet none = {}\nempty none as nothing\n')
    page.locator(".card[data-model=yours].no").wait_for()
    settled(page)
    assert verdicts(page) == {"ptx-9.0": "ok", "yours": "no"}
    heads, rows = table(page)
    differing = [row for row in rows if row[-1] == "differs"]
    assert heads[-1] == "Models" and differing
    assert all(
        row[heads.index("ptx-9.0")] == "forbidden" and row[heads.index("yours")] == "allowed" for row in differing
    )
    write(page, "let broken = (rf\n")
    page.locator(".problem").first.wait_for()
    assert "in Your model" in page.locator(".problem").first.inner_text()
    page.get_by_role("tab", name="Test").click()
    page.locator(".problem").first.click()
    assert page.get_by_role("tab", name="Your model").get_attribute("aria-selected") == "true"


def test_the_library_can_be_searched_by_topic_and_says_when_nothing_is_found(page: Any) -> None:
    page.keyboard.press("F6")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.keyboard.press("F6")  # in the text a slash is a slash
    assert page.evaluate("document.activeElement.id") == "answer-pane"
    page.keyboard.press("/")
    search = page.get_by_role("combobox", name="Search by name, topic or text")
    search.wait_for()
    page.locator("dialog [role=option]").first.wait_for()
    everything = page.locator("dialog [role=option]").count()
    assert everything >= len(list(LIBRARY.rglob("*.litmus")))
    search.fill("iriw")
    assert 0 < page.locator("dialog [role=option]").count() < everything
    assert {name.split("+")[0] for name in page.locator(".examples .name").all_inner_texts()} >= {"IRIW"}
    search.press("ArrowDown")
    chosen = search.get_attribute("aria-activedescendant")
    assert page.locator(f"#{chosen}").get_attribute("aria-selected") == "true"
    search.fill("no such words at all")
    assert (
        page.locator("dialog [role=option]").count() == 0
        and page.get_by_text("No example has these words.").is_visible()
    )
    page.keyboard.press("Escape")
    page.locator("dialog#library").wait_for(state="hidden")


def test_a_cycle_becomes_a_test(page: Any) -> None:
    page.get_by_role("button", name="From a cycle").click()
    edges = page.get_by_label("Edges, as diy7 names them")
    edges.fill("PodWR Fre PodWR Fre")
    page.wait_for_function("() => document.querySelector('.preview').innerText.includes('exists')")
    edges.fill("PodWR Nonsense")
    page.wait_for_function("() => document.querySelector('#cycle-wrong').innerText !== ''")
    assert page.get_by_role("button", name="Put into the editor").is_disabled()
    edges.fill("PodWR Fre PodWR Fre")
    page.wait_for_function("() => !document.querySelector('dialog#cycle button.primary').disabled")
    page.get_by_role("button", name="Put into the editor").click()
    settled(page)
    assert "exists" in text_of(page) and "P1" in text_of(page)
    assert len(table(page)[1]) == 4  # store buffering: all four states
    page.locator("textarea.code").focus()
    page.keyboard.press("Control+z")
    assert text_of(page) == TEXT


def test_editors_of_a_page_are_made_of_files_that_are_small() -> None:
    static = ROOT / "ptxmm" / "web" / "static"
    sizes = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in static.iterdir()}
    assert sizes and {name for name, lines in sizes.items() if lines > 500} == set()
    page = (static / "index.html").read_text(encoding="utf-8")
    assert "http:" not in page and "https:" not in page and "style=" not in page and " on" + "click" not in page
    assert not [path for path in static.glob("*.js") if "innerHTML" in path.read_text(encoding="utf-8")]
