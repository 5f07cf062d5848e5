"""Pages that ship with coldload: made at set-up, with contents that may be passed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from harness.system.folders import cache_folder
from sites.recipes.recipe import LICENCES_FILE, Recipe, keep_licences
from sites.shipped import SHIPPED


class Shipped(Mapping[str, Recipe]):
    """Recipes by the names of their pages. A recipe's module is imported when the recipe is asked for: some draw
    with numpy, and to complete a name on the command line must not take as long.
    """

    def __getitem__(self, name: str) -> Recipe:
        recipes: tuple[Recipe, ...] = import_module(f"{__name__}.{SHIPPED[name]}").RECIPES
        return next(recipe for recipe in recipes if recipe.name == name)

    def __contains__(self, name: object) -> bool:
        return name in SHIPPED

    def __iter__(self) -> Iterator[str]:
        return iter(SHIPPED)

    def __len__(self) -> int:
        return len(SHIPPED)


RECIPES = Shipped()


def package_cache() -> Path:
    """Where downloaded packages are kept."""
    return cache_folder() / "packages"


__all__ = ["LICENCES_FILE", "RECIPES", "Recipe", "keep_licences", "package_cache"]
