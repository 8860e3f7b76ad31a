"""The answer of the explorer, as a person uses it: verdicts, states, pictures, reasons, repairs, and the link."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from browsing import FIRST, ROOT, open_example, settled, table, verdicts, write

import ptxmm

LIBRARY = ROOT / "litmus" / "library"
#: A test whose states differ between two versions of the model, and one that fails and can be repaired.
DIFFERS = "asynchronous/cp.async+short-source"
BROKEN = """PTX broken
{ x = 0; f = 0; }
 P0@cta 0,gpu 0            | P1@cta 1,gpu 0              ;
 st.weak.u32 [x], 1        | ld.acquire.gpu.u32 %r0, [f] ;
 st.relaxed.gpu.u32 [f], 1 | ld.weak.u32 %r1, [x]        ;
~exists (1:%r0 = 1 /\\ 1:%r1 = 0)
"""


def states_of(path: str, model: str = "ptx-9.0") -> set[tuple[tuple[str, str], ...]]:
    """What the library of Python functions says, not the page."""
    result = ptxmm.check(ptxmm.parse((LIBRARY / f"{path}.litmus").read_text(encoding="utf-8")), model=model)
    return {tuple(sorted((name, str(value)) for name, value in state.items())) for state in result.states}


def rows_of(page: Any, model: str, word: str) -> set[tuple[tuple[str, str], ...]]:
    """The states of which the table says `word` of a model."""
    heads, rows = table(page)
    values = [i for i, head in enumerate(heads) if ":" in head or head.startswith("[")]
    return {tuple(sorted((heads[i], row[i]) for i in values)) for row in rows if row[heads.index(model)] == word}


def lines(page: Any, relation: str) -> int:
    """How many lines of a relation are drawn and seen."""
    return int(page.locator(f".drawing .edge[data-relation~='{relation}']:not(.off)").count())


def picture(page: Any) -> Any:
    return page.locator("#execution > figure")


def test_iriw_is_opened_from_the_library_and_its_states_are_read(page: Any) -> None:
    open_example(page, "IRIW+rel+acq")
    assert page.locator("textarea.code").input_value().startswith("PTX IRIW+rel+acq")
    assert rows_of(page, "ptx-9.0", "allowed") == states_of("iriw/IRIW+rel+acq")
    heads, rows = table(page)
    (met,) = [dict(zip(heads, row, strict=True)) for row in rows if row[heads.index("Condition")] == "met"]
    assert [met[name] for name in ("2:r0", "2:r1", "3:r0", "3:r1")] == ["1", "0", "1", "0"]
    page.wait_for_function("() => document.getElementById('said').innerText.includes('ptx-9.0: ok')")


@pytest.mark.long
def test_the_table_is_sorted_by_its_heads(page: Any) -> None:
    head = page.locator("table.states th").nth(1)
    for wanted in ("ascending", "descending"):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == wanted
        column = [row[1] for row in table(page)[1]]
        assert column == sorted(column, reverse=wanted == "descending") and len(set(column)) > 1


def test_models_stand_side_by_side_and_what_differs_is_marked(page: Any) -> None:
    open_example(page, "cp.async+short-source")
    page.get_by_role("button", name="Models").click()
    page.get_by_role("checkbox", name="ptx-7.5").check()
    page.locator(".card").nth(1).wait_for()
    settled(page)
    assert set(verdicts(page)) == {"ptx-9.0", "ptx-7.5"}
    new, old = states_of(DIFFERS, "ptx-9.0"), states_of(DIFFERS, "ptx-7.5")
    assert rows_of(page, "ptx-9.0", "allowed") == new and rows_of(page, "ptx-7.5", "allowed") == old
    assert rows_of(page, "ptx-9.0", "forbidden") == old - new and new != old
    assert rows_of(page, "Models", "differs") == new ^ old
    page.keyboard.press("Escape")
    page.get_by_label("Only where the models differ").check()
    assert len(table(page)[1]) == len(new ^ old)


@pytest.mark.long
def test_a_model_without_an_axiom_is_added_by_name(page: Any) -> None:
    page.get_by_role("button", name="Models").click()
    page.get_by_label("A reading, or a model without an axiom").fill("ptx-9.0/-causality")
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator(".card").nth(1).wait_for()
    settled(page)
    assert verdicts(page) == {"ptx-9.0": "ok", "ptx-9.0/-causality": "no"}


def test_relations_are_switched_off_and_on(page: Any) -> None:
    before = {name: lines(page, name) for name in ("rf", "fr", "co", "po")}
    assert min(before.values()) > 0
    switch = page.locator(".relations input[value=fr]")
    switch.uncheck()
    alone = page.locator(".drawing .edge[data-relation='fr']")
    assert all(not alone.nth(i).is_visible() for i in range(alone.count()))
    assert {name: lines(page, name) for name in ("rf", "co", "po")} == {
        name: before[name] for name in ("rf", "co", "po")
    }
    switch.check()
    assert lines(page, "fr") == before["fr"]


@pytest.mark.long
def test_another_relation_is_drawn_by_its_name(page: Any) -> None:
    page.get_by_label("Draw another relation").fill("rf;po")
    page.get_by_role("button", name="Draw").click()
    page.locator(".relations input[value='rf;po']").wait_for()
    settled(page)
    assert lines(page, "rf;po") > 0
    page.get_by_role("button", name="Remove rf;po").click()
    page.locator(".relations input[value='rf;po']").wait_for(state="detached")


def test_executions_are_stepped_through_by_keys(page: Any) -> None:
    picture(page).focus()
    page.keyboard.press("Home")
    settled(page)
    place = page.locator(".place")
    count = int(place.inner_text().split(" of ")[1])
    assert count == len(states_of(FIRST)) + 1  # and the forbidden one
    seen = []
    for key in ("n", "ArrowRight", "n"):
        seen.append((place.inner_text(), page.locator(".caption").inner_text()))
        page.keyboard.press(key)
        settled(page)
    assert [text for text, _ in seen] == [f"{i} of {count}" for i in (1, 2, 3)] and len(
        {caption for _, caption in seen}
    ) == 3
    for key in ("p", "ArrowLeft"):
        page.keyboard.press(key)
        settled(page)
    assert place.inner_text() == f"2 of {count}"
    marked = page.locator("table.states tr.shown")
    assert marked.count() == 1
    caption = page.locator(".caption").inner_text()
    assert all(value in caption for value in marked.locator(".value").all_inner_texts())
    page.keyboard.press("End")
    settled(page)
    assert place.inner_text() == f"{count} of {count}"


def test_who_types_is_shown_the_execution_that_the_new_verdict_speaks_of_and_why_it_can_happen(page: Any) -> None:
    write(page, (LIBRARY / f"{FIRST}.litmus").read_text(encoding="utf-8").replace("ld.acquire", "ld.relaxed"))
    page.locator("table.states tr.shown.meets").wait_for()  # not the one that was shown of the older text
    assert page.locator("#reasons-title").inner_text() == "Why it can happen"
    page.locator("button.reason").first.hover()
    lit = "edges => edges.map(edge => edge.dataset.relation).sort()"
    assert page.locator(".drawing .edge.on").evaluate_all(lit) == ["fr", "rf"]
    assert "no acquire semantics" in page.locator("button.reason").first.inner_text()


def test_a_kernel_is_opened_with_its_files_and_its_mistake_is_shown(page: Any) -> None:
    page.get_by_role("button", name="Library").click()
    page.get_by_role("button", name="Kernels").click()
    page.locator("[role=option]").filter(has_text="copy").click()
    settled(page)
    assert verdicts(page) == {"ptx-9.0": "ok"} and page.get_by_role("tab", name="copy.ptx").is_visible()
    page.get_by_label("Variant").select_option("wrong")
    page.locator(".card.undefined").wait_for()
    settled(page)
    page.locator("button.reason").first.hover()
    relations = page.locator(".drawing .edge.on").evaluate_all(
        "edges => edges.map(edge => edge.dataset.relation).join(' ')"
    )
    assert "race" in relations.split() and "waits for the completion" in page.locator("#reasons").inner_text()


def test_every_execution_can_be_stepped_through(page: Any) -> None:
    open_example(page, "IRIW+rel+acq")
    page.get_by_label("Step through").select_option(label="every execution")
    settled(page)
    count = int(page.locator(".place").inner_text().split(" of ")[1].split()[0])
    test = ptxmm.parse((LIBRARY / "iriw/IRIW+rel+acq.litmus").read_text(encoding="utf-8"))
    assert count == len(list(ptxmm.executions(test)))
    picture(page).focus()
    page.keyboard.press("n")
    settled(page)
    assert page.locator(".place").inner_text().startswith("2 of ")


@pytest.mark.long
def test_a_state_shows_its_execution(page: Any) -> None:
    button = page.locator("table.states button.plain").last
    execution = button.get_attribute("data-execution")
    button.click()
    settled(page)
    assert page.locator("table.states button[aria-current=true]").get_attribute("data-execution") == execution
    values = page.locator("table.states tr.shown .value").all_inner_texts()
    assert [
        word.partition("=")[2] for word in page.locator(".caption").inner_text().replace(",", "").split()[-2:]
    ] == values


def test_a_reason_lights_its_edges_and_an_edge_its_reason(page: Any) -> None:
    reason = page.locator("button.reason").filter(has_text="synchronizes with")
    reason.hover()
    page.locator(".drawing svg.lit").wait_for()
    lit = page.locator(".drawing .edge.on").evaluate_all(
        "edges => edges.map(edge => [edge.dataset.from, edge.dataset.to])"
    )
    assert lit and {tuple(edge) for edge in lit} == {("P0:1", "P1:0")}
    assert "lit" in (reason.get_attribute("class") or "")
    page.mouse.move(5, 5)
    page.locator(".drawing svg:not(.lit)").wait_for()
    reason.focus()
    page.locator(".drawing svg.lit").wait_for()
    page.keyboard.press("Enter")
    assert reason.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Tab")
    whole = page.locator("button.reason").first
    assert page.locator(".drawing svg.lit").count() == 1
    page.keyboard.press("Escape")
    assert reason.get_attribute("aria-pressed") == "false"
    whole.focus()
    assert page.locator(".drawing .edge.on").count() >= 4  # the circle as a whole
    page.locator("#verdicts").click()
    box = page.locator(".drawing .label[data-from='P0:1'][data-to='P1:0']").first
    box.hover()
    page.locator("button.reason.near").first.wait_for()
    near = page.locator("button.reason.near").all_inner_texts()
    assert any("synchronizes with" in text for text in near)
    assert "P0" in page.locator(".tip").inner_text() and page.locator(".tip").is_visible()


@pytest.mark.long
def test_an_event_under_the_pointer_is_named_and_found_in_the_story(page: Any) -> None:
    page.locator(".drawing [data-event='P1:0']").first.hover()
    assert "ld.acquire" in page.locator(".tip").inner_text()
    assert "ld.acquire" in page.locator(".linearisation li.near").first.inner_text()


def test_a_repair_is_applied_by_a_click_and_taken_back(page: Any) -> None:
    write(page, BROKEN)
    assert verdicts(page) == {"ptx-9.0": "no"}
    page.get_by_role("button", name="Find repairs").click()
    proposal = page.locator(".proposals > li").first
    proposal.wait_for()
    assert "release" in proposal.locator("ins").first.inner_text()
    proposal.get_by_role("button", name="Apply").click()
    page.locator(".card.ok").wait_for()
    settled(page)
    assert verdicts(page) == {"ptx-9.0": "ok"} and page.locator("textarea.code").input_value() != BROKEN
    page.locator("#toast").get_by_role("button", name="Undo").click()
    page.locator(".card.no").wait_for()
    assert page.locator("textarea.code").input_value() == BROKEN


def test_the_link_holds_the_whole_state(visitor: Any) -> None:
    first = visitor.page()
    open_example(first, "IRIW+rel+acq")
    first.get_by_role("button", name="Models").click()
    first.get_by_role("checkbox", name="ptx-6.0").check()
    first.get_by_role("checkbox", name="Your model").check()
    first.keyboard.press("Escape")
    first.locator(".card").nth(2).wait_for()
    settled(first)
    own = '"mine"\nacyclic po | rf as mine\n'
    write(first, own)
    first.get_by_label("Step through").select_option(label="one a state")
    settled(first)
    picture(first).focus()
    first.keyboard.press("n")
    settled(first)
    first.locator(".relations input[value=co]").uncheck()
    first.get_by_role("button", name="Copy link").click()
    first.wait_for_function("() => location.hash.length > 20")
    first.wait_for_timeout(400)  # the address follows what is shown
    address = first.url
    assert re.fullmatch(r"[\w-]+", address.split("#")[1])
    shown = (first.locator(".caption").inner_text(), table(first), verdicts(first))
    second = visitor.page("#" + address.split("#")[1])
    assert (second.locator(".caption").inner_text(), table(second), verdicts(second)) == shown
    assert not second.locator(".relations input[value=co]").is_checked()
    assert second.locator("textarea.code").nth(1).input_value() == own
    assert second.locator("textarea.code").nth(0).input_value() == first.locator("textarea.code").nth(0).input_value()


def test_a_link_that_is_cut_off_is_told(visitor: Any) -> None:
    page = visitor.page("#abcdefgh")
    assert "could not be read" in page.locator("#toast").inner_text()
    assert verdicts(page) == {"ptx-9.0": "ok"}
    packed = page.evaluate(
        """async () => {
          const { encode, decode } = await import('/static/link.js');
          const state = { text: 'x\\u{1d54a}\\u0000 | ;', list: [1, null] };
          const plain = '=' + btoa(JSON.stringify({ text: 'y' })).replace(/=+$/, '');
          const bomb = await encode({ text: ' '.repeat(8e6) });
          const link = await encode(state);
          const same = JSON.stringify(await decode(link)) === JSON.stringify(state);
          return [same, (await decode(plain)).text, await decode(bomb), await decode(link.slice(0, -3)), bomb.length];
        }"""
    )
    assert packed[:4] == [True, "y", None, None] and packed[4] < 20000


def test_a_picture_brings_nothing_but_a_picture(visitor: Any) -> None:
    """What is not an element or an attribute of pictures does not reach the page."""
    page = visitor.page()
    hostile = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink" width="9" onload="alert(1)">
      <script>alert(2)</script><style>@import url(http://example.org/a.css); rect { fill: red }</style>
      <foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="x" onerror="alert(3)"/></body></foreignObject>
      <a x:href="javascript:alert(4)"><rect width="1" height="1"/></a><use href="http://example.org/b.svg#c"/>
      <image href="http://example.org/d.png"/><animate attributeName="href" values="javascript:alert(5)"/>
      <rect class="ok" width="2" height="2" fill="url(http://example.org/e)" stroke="url(#here)"
        style="fill: red" onclick="alert(6)"/>
      <text>a &lt;b&gt;</text></svg>"""
    kept = page.evaluate(
        """async text => {
          const { drawingOf } = await import('/static/drawing.js');
          const { picture, sheet } = drawingOf(text);
          return [picture.outerHTML, sheet.cssRules.length, drawingOf('<svg'), drawingOf('<html/>')];
        }""",
        hostile,
    )
    assert kept[1:] == [0, None, None]
    assert not re.search(r"script|foreign|href|alert|style|on\w+=|example|<a\b|<use|<image|<animate|<img", kept[0])
    assert 'class="ok"' in kept[0] and 'stroke="url(#here)"' in kept[0] and "a &lt;b&gt;" in kept[0]
    assert all("Content Security Policy" in complaint for complaint in visitor.complaints), "refused, and said so"
    visitor.complaints.clear()


def test_a_server_that_does_not_answer_is_told_and_asked_again(visitor: Any) -> None:
    page = visitor.page()
    page.route("**/api/check", lambda route: route.abort())
    page.locator("textarea.code").focus()
    page.keyboard.insert_text(" ")
    page.get_by_text("The server does not answer").wait_for()
    assert page.locator(".card").count() == 0 and page.locator("#states").is_hidden()
    page.unroute("**/api/check")
    page.get_by_role("button", name="Ask again").click()
    page.locator(".card").wait_for()
    page.route("**/api/check", lambda route: route.fulfill(status=413, body=json.dumps({"error": "too long"})))
    page.keyboard.press("F6")
    page.locator("textarea.code").focus()
    page.keyboard.insert_text(" ")
    page.get_by_text("The server says: too long").wait_for()
    assert any("413" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()  # these were ours


def test_undecided_is_not_called_forbidden(page: Any) -> None:
    """Where a model has not looked at everything, a state that only others have is `not found`, and never forbidden."""
    words = page.evaluate(
        """async () => {
          const { rowsOf } = await import('/static/states.js');
          const has = [{ values: { x: 1 }, allowed: true, execution: 0 }];
          const pair = complete => [{ model: 'a', complete: true, states: has }, { model: 'b', complete, states: [] }];
          return [true, false].map(complete => rowsOf(pair(complete), ['x']).map(row => [row.words, row.differs]));
        }"""
    )
    assert words == [[[["allowed", "forbidden"], True]], [[["allowed", "not found"], False]]]


def test_what_is_not_known_is_not_called_the_same(page: Any) -> None:
    """Models agree where both looked at everything; a claim within bounds says so; of what is undefined nothing is promised."""
    found = page.evaluate(
        """async () => {
          const { States } = await import('/static/states.js');
          const { Verdicts } = await import('/static/verdicts.js');
          const made = html => { const node = document.createElement('section'); node.innerHTML = html; return node; };
          const states = [{ values: { x: 1 }, allowed: true, satisfies: null, execution: 0 }];
          const told = (verdict, complete, of) => {
            const section = made('<h2></h2><div class="body"></div>');
            const a = { model: 'a', verdict: 'ok', complete: true, columns: ['x'], states };
            new States(section, () => {}).update([a, { model: 'b', verdict, complete, columns: [], states: of }]);
            return section.textContent;
          };
          const card = made('');
          const checks = [{ text: 'c', holds: true, bounded: true }, { text: 'd', holds: true, bounded: false }];
          new Verdicts(card).update([{ model: 'a', verdict: 'bounded', checks }]);
          const items = [...card.querySelectorAll('li')].map(item => item.textContent);
          const some = ['undecided', 'undefined'].map(verdict => told(verdict, false, states));
          return [told('ok', true, states), ...some, told('no', true, []), items];
        }"""
    )
    same, undecided, undefined, none, checks = found
    assert "The models allow the same states." in same
    assert "same" not in undecided and "No difference was found, and not every state was looked for." in undecided
    assert "same" not in undefined and "b: undefined, so nothing is promised" in undefined
    assert "1 state allowed by one model and not by another" in none and "forbidden" in none
    assert checks == ["c holds as far as loops were followed", "d holds"]
