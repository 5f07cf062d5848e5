"""Commands start at once: what one of them needs is not imported for the others."""

from __future__ import annotations

import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import arguments
from harness.cli.commands import COMMANDS, CommandRow
from harness.cli.main import main
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About

ROOT = Path(__file__).parents[4]
HEAVY = {
    "PIL", "caddy", "cryptography", "dns", "jinja2", "matplotlib", "numpy", "pandas", "playwright", "pyarrow", "rich",
    "scipy", "selenium", "tinycss2",
}  # fmt: skip
# Runs a command line and prints, last, the top-level packages that were imported for it.
IMPORTED = """
import sys
before = set(sys.modules)
from harness.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
sys.exit(code)
"""
OF_OURS = {"analysis", "configs", "harness", "sites"}


def imported(*words: str, archives: Path | None = None) -> set[str]:
    """The packages that a command line imports, without Python's own and ours."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} | (
        {"COLDLOAD_ARCHIVES": str(archives)} if archives else {}
    )
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *words], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode in (0, 3), done.stderr  # 3: doctor, where something is missing
    return set(done.stdout.splitlines()[-1].split()) - sys.stdlib_module_names - OF_OURS


@pytest.mark.thorough
def test_the_help_of_no_command_imports_a_package() -> None:
    assert imported("--help") == set()
    for command in COMMANDS:
        assert imported(command.name, "--help") == set(), command.name


def test_doctor_imports_none_of_the_packages_it_looks_for() -> None:
    assert imported("doctor") == set()


def test_a_plan_imports_nothing_that_takes_long_but_its_statistics(tmp_path: Path) -> None:
    page = [Response("http://a.example/", 200, (), b"x")]
    for name in ("dummy-2012", "agency"):
        write_archive(tmp_path, name, About("http://a.example/", "test", "", ()), page)
    assert imported("plan", "demo-quick", archives=tmp_path) & HEAVY == {"numpy", "scipy"}


def test_doctor_names_missing_packages() -> None:
    """Python without its packages (-S): they are missing, and doctor says so."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", "harness.cli", "doctor"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (3, "")
    assert "MISSING  Python packages: missing: selenium, playwright, warcio" in done.stdout
    assert "to mend it: make setup" in done.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_has_its_help_and_a_function_of_its_arguments(
    command: CommandRow, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(inspect.signature(command.imported()).parameters) == 1
    with pytest.raises(SystemExit, match="0"):
        main([command.name, "--help"])
    usage, description, *_ = capsys.readouterr().out.split("\n\n")
    assert usage.startswith(f"usage: coldload {command.name} [-h]")
    assert description


def test_every_module_of_arguments_is_of_a_command() -> None:
    modules = {each.name for each in pkgutil.iter_modules(arguments.__path__)}
    assert modules - {"paths", "study"} == {command.module for command in COMMANDS}


def test_no_words_get_the_list_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
    said = capsys.readouterr().err
    assert all(f"\n    {command.name} " in said for command in COMMANDS)
