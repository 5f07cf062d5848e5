"""The command line: how it ends, and that commands start at once, as what one needs is not imported for the others."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from harness.cli.commands import COMMANDS, WITH_ARCHIVES, CommandRow, main
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About

INTERRUPTED = """
import os, signal, sys
import harness.cli.__main__ as program
import harness.cli.commands as line

def command():
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()

line.prepared = lambda: command
code = program.main()
print(signal.getitimer(signal.ITIMER_REAL)[0])
sys.exit(code)
"""


WITHIN = """
import harness.cli.__main__ as program
import harness.cli.commands as line

line.prepared = lambda: lambda: exec("raise KeyboardInterrupt")
print(program.main())
"""


def test_an_interruption_of_text_that_python_runs_has_no_other_exit_code() -> None:
    """As where a module is imported whose dataclasses are made just then."""
    done = subprocess.run([sys.executable, "-c", WITHIN], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "130\n", "coldload: interrupted\n")


TITLED = """
name = "sizes"
title = "Größe …"
pages = ["one"]
protocols = ["h2"]
trials = 2
[[links]]
down_mbps = 10
rtt_ms = 20
"""


def test_no_alarm_is_left_when_an_interrupted_command_has_unwound() -> None:
    """However long Python then takes to end, nothing kills it."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "0.0\n", "coldload: interrupted\n")


def test_what_the_encoding_of_the_output_lacks_is_told_by_its_number(tmp_path: Path) -> None:
    page = Response("http://a.example/", 200, (), b"x")
    write_archive(tmp_path, "one", About(page.url, "test", "", ()), [page])
    study = tmp_path / "study.toml"
    study.write_text(TITLED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness.cli", "plan", str(study)],
        env={**os.environ, "COLDLOAD_ARCHIVES": str(tmp_path), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert r"Gr\xf6\xdfe \u2026: " in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["load", "x", "--protocol", "http2"], "there is no 'http2' (did you mean h2?)"),
        (["load", "x", "--protocol", "QUIC"], "there is no 'QUIC' (did you mean h3?)"),
        (["load", "x", "--device", "mobil"], "there is no 'mobil' (did you mean mobile?)"),
        (["load", "x", "--engine", "chrome"], "there is no 'chrome' (did you mean chromium?)"),
        (["lod"], "there is no 'lod' (did you mean load?)"),
        (["root", "lsit"], "there is no 'lsit' (did you mean list?)"),
        (["lod"], "advise, archive and 17 more; see `coldload --help`"),
        (["load", "x", "--lnk", "cable"], "--lnk cable (did you mean --link?); see `coldload load --help`"),
        (["run", "x", "--trails=3"], "--trails=3 (did you mean --trials?); see `coldload run --help`"),
        (["load", "x", "y"], "unrecognized arguments: y; see `coldload load --help`"),
        (
            ["--verison", "doctor"],
            "unrecognized arguments: --verison (did you mean --version?); see `coldload --",
        ),
        (["load"], "the following arguments are required: NAME"),
        (["run", "x", "--trials", "\x1b[2J"], "\\x1b[2J"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert told.endswith("--help`\n")


ROOT = Path(__file__).parents[4]
HEAVY = {
    "PIL", "caddy", "cryptography", "dns", "jinja2", "matplotlib", "numpy", "pandas", "playwright", "pyarrow", "rich",
    "scipy", "selenium", "tinycss2",
}  # fmt: skip
# Runs a command line and prints, last, the top-level packages that were imported for it.
IMPORTED = """
import sys
before = set(sys.modules)
from harness.cli.commands import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
sys.exit(code)
"""
# Prints the modules that the help of command lines imports.
HELPED = """
import contextlib, io, sys
before = set(sys.modules)
from harness.cli.commands import parser
for line in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        parser().parse_args([*line.split(), "--help"])
print(*(set(sys.modules) - before))
"""
# What a command imports when it runs, and not for its help.
LATER = (
    "analysis.", "dnsredirect", "harness.engines", "harness.capacity", "harness.cluster", "harness.lab",
    "harness.pack", "harness.probes", "harness.records", "harness.run", "harness.trial", "harness.verify",
    "sites.archive", "sites.servers",
)  # fmt: skip
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


def imported_for_help(*lines: str) -> set[str]:
    """All modules that the help of these command lines imports."""
    done = subprocess.run(
        [sys.executable, "-c", HELPED, *lines],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    return set(done.stdout.split())


def test_the_list_of_commands_imports_no_command() -> None:
    modules = imported_for_help("")
    assert not modules & {f"harness.cli.{command.module or command.name}" for command in COMMANDS}
    assert not any(module.startswith(("harness.model", "harness.study")) for module in modules)


def test_the_help_of_no_command_imports_a_package_or_what_the_command_does() -> None:
    modules = imported_for_help("", *(command.name for command in COMMANDS))
    tops = {name.partition(".")[0] for name in modules}
    assert tops - sys.stdlib_module_names - OF_OURS == set()
    assert not [name for name in modules if name.startswith(LATER)]


def test_doctor_imports_none_of_the_packages_it_looks_for() -> None:
    assert imported("doctor") == set()


def test_a_plan_imports_nothing_that_takes_long(tmp_path: Path) -> None:
    page = [Response("http://a.example/", 200, (), b"x")]
    for name in ("dummy-2012", "agency"):
        write_archive(tmp_path, name, About("http://a.example/", "test", "", ()), page)
    assert imported("plan", "demo-quick", archives=tmp_path) & HEAVY == set()


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
    assert "missing: selenium, playwright, warcio" in done.stdout
    assert "to mend it: make setup" in done.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_has_its_help_and_a_function_of_its_arguments(
    command: CommandRow, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(inspect.signature(command.imported().run).parameters) == 1
    with pytest.raises(SystemExit, match="0"):
        main([command.name, "--help"])
    usage, description, *_ = capsys.readouterr().out.split("\n\n")
    assert usage.startswith(f"usage: coldload {command.name} [-h]")
    assert description


def test_archives_are_where_the_option_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also in the processes that a command starts, whatever folder they are in."""
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path / "others"))
    page = Response("http://a.example/", 200, (), b"x")
    write_archive(tmp_path / "mine", "one", About(page.url, "test", "", ()), [page])
    monkeypatch.chdir(tmp_path)
    assert main(["pages"]) == 0
    assert "one" not in capsys.readouterr().out.split()
    assert main(["pages", "--archives", "mine"]) == 0
    assert "one" in capsys.readouterr().out.split()
    told = subprocess.run(
        ["printenv", "COLDLOAD_ARCHIVES"], capture_output=True, text=True, cwd="/", check=True
    )
    assert told.stdout == f"{tmp_path / 'mine'}\n"


def test_every_command_that_opens_archives_takes_their_folder() -> None:
    openers = ("archives_root", "make_first_needed", "run_and_report", "make_shipped_archives")
    sources = {row.name: inspect.getsource(import_module(row.imported().run.__module__)) for row in COMMANDS}
    opening = {name for name, source in sources.items() if any(opener in source for opener in openers)}
    assert {"load", "pack", "setup"} <= opening - {"completion"} <= WITH_ARCHIVES <= set(sources)


def test_no_words_get_the_list_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
    said = capsys.readouterr().err
    assert all(f"\n    {command.name} " in said for command in COMMANDS)
