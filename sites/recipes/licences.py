"""The licence texts of the packages that a page was made of, kept beside its archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.system.files import replace_text
from sites.recipes.packages import fetch, read_files
from sites.recipes.recipe import Recipe

LICENCES_FILE = "licences.txt"
# What packages call the file, at the top of their tree.
NAMES = ("LICENSE", "LICENCE", "License", "license", "COPYING", "NOTICE", "MIT-LICENSE", "OFL")
DESCRIPTIONS = ("package.json", "README")
RULE = "=" * 80


def keep_licences(recipe: Recipe, archive: Path, packages: Path) -> None:
    """Write the licence texts into the folder of a recipe's archive, unless they are there.

    EnvironmentLacks when a package cannot be had any more.
    """
    file = archive / LICENCES_FILE
    if recipe.packages and not file.exists():
        fetch(recipe.packages, packages)
        replace_text(file, "".join(_sections(recipe, packages)))


def licence_texts(recipe: Recipe, packages: Path) -> dict[str, str]:
    """The texts by package and file; of a package without one, what its description and its README say."""
    texts: dict[str, str] = {}
    for package in recipe.packages:
        found = read_files(package, packages, *NAMES, *DESCRIPTIONS)
        top = {
            path: body.decode("utf-8", "replace") for path, body in sorted(found.items()) if "/" not in path
        }
        licences = {path: text for path, text in top.items() if not path.startswith(DESCRIPTIONS)}
        texts |= {f"{package}: {path}": text for path, text in (licences or top).items()}
    return texts


def _sections(recipe: Recipe, packages: Path) -> Iterator[str]:
    yield f"{recipe.name}: {recipe.summary}\n{recipe.licence}\nMade of: {', '.join(map(str, recipe.packages))}\n"
    for title, text in licence_texts(recipe, packages).items():
        yield f"\n{RULE}\n{title}\n{RULE}\n{text.rstrip()}\n"
