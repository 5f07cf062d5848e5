"""The recipes of a run, kept in its directory: all of its trials follow the same, also those of a later call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from harness.capacity.recipe import Item, PageRecipe
from harness.input import jsontext
from harness.input.shown import one_line
from harness.model.condition import Served
from harness.system.files import write_whole

RECIPES = "recipes"
SCHEMA = 1


class KeptItem(msgspec.Struct, forbid_unknown_fields=True):
    """An item of a recipe as it stands in a file."""

    url: str
    method: str
    headers: dict[str, str]
    status: int
    after: list[int]

    def item(self) -> Item:
        return Item(self.url, self.method, tuple(self.headers.items()), self.status, tuple(self.after))


class KeptRecipe(msgspec.Struct, forbid_unknown_fields=True):
    """The file of a recipe: of which archive it is, and what its page asks for, the document first."""

    schema: int
    archive_digest: str
    left_out: int
    items: list[KeptItem]

    def recipe(self) -> PageRecipe:
        """ValueError when it is none that could be followed."""
        if self.schema != SCHEMA:
            raise ValueError(f"schema {self.schema}, not {SCHEMA}")
        if not self.items or self.items[0].after:
            raise ValueError("no document comes first")
        document, *objects = (each.item() for each in self.items)
        for number, each in enumerate(objects):
            if not all(-1 <= other < number for other in each.after):
                raise ValueError(f"object {number} waits for a later one")
        return PageRecipe(document, tuple(objects), self.left_out)


class KeptRecipes:
    """A folder with a file per page and protocol. `warn` is told of one that is damaged, which is as good as none."""

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._folder, self._warn = folder, warn

    def read(self, page: Served, digest: str) -> PageRecipe | None:
        """The recipe of a page in the archive with this digest; None when there is none."""
        path = self._path(page)
        try:
            kept = msgspec.convert(jsontext.read(path), KeptRecipe)
            recipe = kept.recipe()
        except FileNotFoundError:
            return None
        except ValueError as error:
            self._warn(f"{path} is damaged ({one_line(str(error))}), so that the page is learned anew")
            return None
        if kept.archive_digest != digest:
            self._warn(f"{path} is of another archive, so that the page is learned anew")
            return None
        return recipe

    def write(self, page: Served, digest: str, recipe: PageRecipe) -> None:
        self._folder.mkdir(exist_ok=True)
        items = [each.to_json() for each in (recipe.document, *recipe.objects)]
        kept: dict[str, Any] = {
            "schema": SCHEMA,
            "archive_digest": digest,
            "left_out": recipe.left_out,
            "items": items,
        }
        write_whole(self._path(page), json.dumps(kept) + "\n")

    def _path(self, page: Served) -> Path:
        return self._folder / f"{page.archive}-{page.protocol}-{page.engine}.json"
