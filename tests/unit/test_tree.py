"""tests/unit mirrors the tree, and no two classes of the tree have one name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "tests" / "unit"
PACKAGES = ("harness", "sites", "analysis", "configs", "dns")
TESTED: dict[str, set[Path]] = {}  # the folders of the modules of each name
for package in PACKAGES:
    for module in (ROOT / package).rglob("*.py"):
        TESTED.setdefault(module.stem, set()).add(module.parent.relative_to(ROOT))
FOLDERS = sorted({each.parent for each in UNIT.rglob("*.py")} - {UNIT})
TESTS = sorted(UNIT.rglob("test_*.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: str(each.relative_to(UNIT)))
def test_a_folder_of_tests_is_a_package(folder: Path) -> None:
    assert (ROOT / folder.relative_to(UNIT) / "__init__.py").is_file()


@pytest.mark.parametrize("test", TESTS, ids=lambda each: str(each.relative_to(UNIT)))
def test_the_tests_of_a_module_lie_where_it_lies(test: Path) -> None:
    known = TESTED.get(test.stem.removeprefix("test_"))
    assert known is None or test.parent.relative_to(UNIT) in known


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in re.findall(r"^\s*class (\w+)", path.read_text(), re.MULTILINE):
                places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
