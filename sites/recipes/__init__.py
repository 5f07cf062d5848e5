"""Pages that ship with coldload: made at set-up, with contents that may be passed on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sites.recipes.agency import AGENCY
from sites.recipes.dummy import DUMMY
from sites.recipes.icons import ICONS
from sites.recipes.noise import NOISE
from sites.recipes.recipe import Recipe
from sites.recipes.texts import TEXTS

RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in (DUMMY, AGENCY, ICONS, *NOISE, *TEXTS)}


def package_cache() -> Path:
    """Where downloaded packages are kept: `packages` in $COLDLOAD_CACHE, or in ~/.cache/coldload."""
    return Path(os.environ.get("COLDLOAD_CACHE") or Path.home() / ".cache" / "coldload") / "packages"


__all__ = ["RECIPES", "Recipe", "package_cache"]
