"""The map from the manual to the model: every row leads somewhere, and every axiom and flag of the model is on it."""

from __future__ import annotations

import re

import pytest
from manual_map import CAT, CHAPTER_8, CHAPTER_9, ROOT, Sentence, line_of

ROWS = [*CHAPTER_8, *CHAPTER_9]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section}-{row.words[:30]}")
def test_a_sentence_is_carried_by_what_is_there(row: Sentence) -> None:
    assert row.carriers or row.note
    for carrier in row.carriers:
        kind, _, name = carrier.partition(" ")
        assert line_of(name) if kind == "cat" else (ROOT / carrier).is_file()


def test_sections_stand_in_the_order_of_the_manual() -> None:
    for chapter in (CHAPTER_8, CHAPTER_9):
        numbers = [[int(n) for n in re.findall(r"\d+", row.section.split(",")[0].split("-")[0])] for row in chapter]
        assert numbers == sorted(numbers)


def test_every_axiom_and_flag_of_the_model_carries_something() -> None:
    names = set(re.findall(r"\bas ([\w-]+)$", CAT.read_text(encoding="utf-8"), re.MULTILINE))
    carried = {c.partition(" ")[2] for row in ROWS for c in row.carriers if c.startswith("cat ")}
    assert names - carried == {
        "war",
        "mbarrier-order",
        "exited",
        "unset",
        "freed",
    }  # two are ours (see docs/model.md), the others are of chapters 2 and 5, and of the CUDA runtime
