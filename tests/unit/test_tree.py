"""tests/unit mirrors the tree, no two types of the tree have one name, and browsers are named in their rooms alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.model.engine import BROWSERS

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "tests" / "unit"
PACKAGES = ("harness", "sites", "analysis", "configs", "dns")
TESTED: dict[str, set[Path]] = {}  # the folders of the modules of each name
for package in PACKAGES:
    for module in (ROOT / package).rglob("*.py"):
        TESTED.setdefault(module.stem, set()).add(module.parent.relative_to(ROOT))
FOLDERS = sorted({each.parent for each in UNIT.rglob("*.py")} - {UNIT})
CLASS = re.compile(r"^\s*class (\w+)", re.MULTILINE)
# Whatever a module names in mixed case is a type; a variable is one that stands for any of several.
ALIAS = re.compile(r"^([A-Z]\w*[a-z]\w*)(?:: \w+)? = (TypeVar\()?", re.MULTILINE)
TESTS = sorted(UNIT.rglob("test_*.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: str(each.relative_to(UNIT)))
def test_a_folder_of_tests_is_a_package(folder: Path) -> None:
    assert (ROOT / folder.relative_to(UNIT) / "__init__.py").is_file()


@pytest.mark.parametrize("test", TESTS, ids=lambda each: str(each.relative_to(UNIT)))
def test_the_tests_of_a_module_lie_where_it_lies(test: Path) -> None:
    known = TESTED.get(test.stem.removeprefix("test_"))
    assert known is None or test.parent.relative_to(UNIT) in known


def test_no_two_types_have_one_name() -> None:
    """Classes and aliases of types. What several modules need is imported, also where two aliases say the same.

    A type variable belongs to its module: several may have one name, which no class and no alias has.
    """
    places: dict[str, list[str]] = {}
    variables: dict[str, str] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text, place = path.read_text(), str(path.relative_to(ROOT))
            names = CLASS.findall(text)
            for name, variable in ALIAS.findall(text):
                if variable:
                    variables[name] = place
                else:
                    names.append(name)
            for name in names:
                places.setdefault(name, []).append(place)
    for name, place in variables.items():
        places.setdefault(name, []).append(place)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_a_browser_is_named_in_its_own_package_and_in_the_table_of_engines_alone() -> None:
    """Elsewhere a capability is asked for, or the default engine is meant."""
    named = re.compile(r"\bEngine\.(?:" + "|".join(engine.name for engine in BROWSERS) + r")\b")
    found = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if ROOT / "harness/engines" not in path.parents and named.search(path.read_text())
    }
    assert found == {"harness/model/engine.py"}
