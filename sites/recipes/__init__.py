"""Pages that ship with coldload: made at set-up, with contents that may be passed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from harness.system.folders import cache_folder
from sites.recipes.recipe import LICENCES_FILE, Recipe, keep_licences

MODULES: Mapping[str, str] = {
    "dummy-2012": "study2012",
    "agency": "templates",
    "mobile-news-2012": "study2012",
    "icons-2013": "uniform",
    **{f"noise-{size}": "uniform" for size in ("200", "1k", "10k", "100k")},
    **{f"text-{size}k": "uniform" for size in (10, 25, 50, 75, 100)},
    **{f"objects-{count}": "uniform" for count in (5, 20, 100)},
    **dict.fromkeys(("framework7", "clean-blog", "article", "resume", "freelancer"), "templates"),
    **dict.fromkeys(("landing", "creative", "paper-kit", "dashboard", "datatable"), "templates"),
    "gazetteer": "gazetteer",
    "dummy-nocache": "study2012",
    "mobile-news-one-host": "study2012",
    **dict.fromkeys(("news-front", "news-front-phone", "print-shop", "print-shop-phone"), "today"),
    **dict.fromkeys(("magazine", "magazine-phone", "field-guide", "field-guide-phone"), "today"),
}


class Shipped(Mapping[str, Recipe]):
    """Recipes by the names of their pages. A recipe's module is imported when the recipe is asked for: some draw
    with numpy, and to complete a name on the command line must not take as long.
    """

    def __getitem__(self, name: str) -> Recipe:
        recipes: tuple[Recipe, ...] = import_module(f"{__name__}.{MODULES[name]}").RECIPES
        return next(recipe for recipe in recipes if recipe.name == name)

    def __contains__(self, name: object) -> bool:
        return name in MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


RECIPES = Shipped()


def package_cache() -> Path:
    """Where downloaded packages are kept."""
    return cache_folder() / "packages"


__all__ = ["LICENCES_FILE", "RECIPES", "Recipe", "keep_licences", "package_cache"]
