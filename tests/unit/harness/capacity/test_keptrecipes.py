"""Recipes come back as they were kept, and a damaged one is told and as good as none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.capacity.keptrecipes import KeptRecipes
from harness.capacity.recipe import DOCUMENT, Item, PageRecipe
from harness.model.condition import Served
from harness.model.engine import Engine
from harness.model.protocol import Protocol

PAGE = Served("agency", Protocol.H2, Engine.CHROMIUM)
HEADERS = (("accept", "text/css"), ("referer", "https://a.example/"))
RECIPE = PageRecipe(
    Item("https://a.example/", "GET", (("accept", "text/html"),), 200),
    (
        Item("https://a.example/s.css", "GET", HEADERS, 200, (DOCUMENT,)),
        Item("https://b.example/x\x1b[31m", "POST", (), 404, (0,)),
    ),
    left_out=3,
)


@pytest.fixture
def warned() -> list[str]:
    return []


@pytest.fixture
def kept(tmp_path: Path, warned: list[str]) -> KeptRecipes:
    return KeptRecipes(tmp_path / "recipes", warned.append)


def the_file(folder: Path) -> Path:
    (path,) = (folder / "recipes").iterdir()
    return path


def test_a_recipe_comes_back_as_it_was_kept(kept: KeptRecipes, tmp_path: Path, warned: list[str]) -> None:
    assert kept.read(PAGE, "digest") is None
    kept.write(PAGE, "digest", RECIPE)
    assert kept.read(PAGE, "digest") == RECIPE
    assert kept.read(PAGE._replace(protocol=Protocol.H3), "digest") is None
    assert the_file(tmp_path).name == "agency-h2-chromium.json"
    assert warned == []


def test_that_of_another_archive_is_none(kept: KeptRecipes, warned: list[str]) -> None:
    kept.write(PAGE, "digest", RECIPE)
    assert kept.read(PAGE, "another") is None
    assert "is of another archive, so that the page is learned anew" in warned[0]


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def apply(text: bytes) -> bytes:
        data = json.loads(text)
        change(data)
        return json.dumps(data).encode()

    return apply


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-20],
        lambda _: b"",
        lambda _: b"\xff\x00",
        lambda _: b"[]",
        lambda _: b"[" * 100_000,
        changed(lambda data: data.pop("items")),
        changed(lambda data: data["items"].clear()),
        changed(lambda data: data["items"][1].update(after=[1])),
        changed(lambda data: data["items"][1].update(after=[-2])),
        changed(lambda data: data["items"][0].update(after=[-1])),
        changed(lambda data: data["items"][1].update(url=7)),
        changed(lambda data: data["items"][1].update(status="200")),
        changed(lambda data: data["items"][1].update(more="\x1b[31m")),
        changed(lambda data: data.update(schema=2)),
    ],
)
def test_a_damaged_one_is_told_in_a_line_and_is_none(
    damage: Callable[[bytes], bytes], kept: KeptRecipes, tmp_path: Path, warned: list[str]
) -> None:
    kept.write(PAGE, "digest", RECIPE)
    path = the_file(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    assert kept.read(PAGE, "digest") is None
    (line,) = warned
    assert line.startswith(f"{path} is damaged (")
    assert line.endswith("), so that the page is learned anew")
    assert line.isprintable()
    kept.write(PAGE, "digest", RECIPE)
    assert kept.read(PAGE, "digest") == RECIPE
