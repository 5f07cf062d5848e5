"""tests/unit mirrors the tree, no two types of the tree and no two functions of a room have one name, and browsers are
named in their rooms alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
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
# What several modules of a room answer to on purpose: whoever knows one of them knows the others.
ALIKE: Mapping[str, set[str]] = {
    "analysis/charts": {"chart", "reading"},  # the figure of a module, and how its figures are read
    "analysis/report": {"render"},  # the page and the paper
    "harness/capacity": {"observe"},  # what the proof of each kind makes of its evidence
    "harness/cli": {"add_arguments", "main", "run"},  # each command; `main`: the program
    "sites/optimise": {"minified"},  # a style sheet and a script
    "sites/servers": {  # of each server
        *("commands", "configuration", "configure", "described", "parse_line", "status_page", "version"),
        "write_answers",
    },
}
# Functions that are named like a class of their room and give something else.
OTHERWISE = {
    "metric",  # makes a field that holds a `Metric`
    "asked_for",  # all that a page asks for; an `AskedFor` is one thing, with what became of it
}


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
    modules: dict[str, list[str]] = {}
    variables: dict[str, str] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text, module = path.read_text(), str(path.relative_to(ROOT))
            names = CLASS.findall(text)
            for name, variable in ALIAS.findall(text):
                if variable:
                    variables[name] = module
                else:
                    names.append(name)
            for name in names:
                modules.setdefault(name, []).append(module)
    for name, module in variables.items():
        modules.setdefault(name, []).append(module)
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


@cache
def public_functions(module: Path) -> Mapping[str, str]:
    """The functions of a module that others may call, each with the type of what it gives."""
    return {
        node.name: "" if node.returns is None else ast.unparse(node.returns)
        for node in ast.parse(module.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    }


def rooms() -> Iterator[tuple[str, list[Path]]]:
    """The folders of the tree that hold modules, each with these."""
    for package in PACKAGES:
        for folder in (ROOT / package, *(path for path in (ROOT / package).rglob("*") if path.is_dir())):
            if modules := sorted(folder.glob("*.py")):
                yield str(folder.relative_to(ROOT)), modules


def test_no_two_functions_of_a_room_have_one_name() -> None:
    """Public functions of modules; those of classes have their class beside them. Rooms further apart may each have,
    say, a `verdict`: who reads in one room sees one of them.
    """
    found: dict[str, set[str]] = {}
    for room, modules in rooms():
        seen: set[str] = set()
        for module in modules:
            names = set(public_functions(module))
            if both := seen & names:
                found.setdefault(room, set()).update(both)
            seen |= names
    assert found == ALIKE


def test_a_function_that_is_named_like_a_type_of_its_room_gives_it() -> None:
    """As `host` gives a `Host`, and `open_lab` an `OpenLab`. Types are classes and aliases, without type variables."""
    otherwise: set[str] = set()
    for _, modules in rooms():
        texts = [module.read_text() for module in modules]
        types = {name.lower(): name for text in texts for name in CLASS.findall(text)}
        for text in texts:
            types |= {name.lower(): name for name, variable in ALIAS.findall(text) if not variable}
        for module in modules:
            for name, gives in public_functions(module).items():
                named = types.get(name.replace("_", ""))
                if named is not None and named not in re.findall(r"\w+", gives):
                    otherwise.add(name)
    assert otherwise == OTHERWISE


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
