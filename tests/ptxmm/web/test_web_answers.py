"""The answers of `ptxmm serve`: each endpoint, and that they are the library's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from serving import Served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served("--jobs", "1") as server:
        yield server


def test_models_are_those_that_ship(served: Served) -> None:
    from axioms.models import DEFAULT, names, text_of

    found = served.get("/api/models").value
    assert [model["name"] for model in found] == names() and all(model["about"] for model in found)
    assert [model["name"] for model in found if model["default"]] == [DEFAULT]
    assert served.get(f"/api/models/{DEFAULT}").value["text"] == text_of(DEFAULT)
    assert served.get("/api/models/ptx-1.0").status == 404
