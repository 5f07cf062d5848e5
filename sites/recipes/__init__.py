"""Pages that ship with coldload: made at set-up, with contents that may be passed on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.system.folders import cache_folder
from sites.recipes.dummy import DUMMY, DUMMY_NOCACHE
from sites.recipes.gazetteer import GAZETTEER
from sites.recipes.icons import ICONS
from sites.recipes.mobilenews import MOBILE_NEWS, MOBILE_NEWS_ONE_HOST
from sites.recipes.noise import NOISE, OBJECTS
from sites.recipes.recipe import LICENCES_FILE, Recipe, keep_licences
from sites.recipes.templates import AGENCY, TEMPLATES
from sites.recipes.texts import TEXTS

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        DUMMY,
        AGENCY,
        MOBILE_NEWS,
        ICONS,
        *NOISE,
        *TEXTS,
        *OBJECTS,
        *TEMPLATES,
        GAZETTEER,
        DUMMY_NOCACHE,
        MOBILE_NEWS_ONE_HOST,
    )
}


def package_cache() -> Path:
    """Where downloaded packages are kept."""
    return cache_folder() / "packages"


__all__ = ["LICENCES_FILE", "RECIPES", "Recipe", "keep_licences", "package_cache"]
