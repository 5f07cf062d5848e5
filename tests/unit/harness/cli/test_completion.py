"""What a shell completes: by the answers that coldload gives to it, and in the shells themselves."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

PROGRAMS = Path(sys.executable).parent
# As they are started: without the settings of who runs the tests.
SHELLS = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}
FIRST = {"bash": "", "zsh": "autoload -U compinit && compinit -D; ", "fish": ""}
SWITCHED_ON = {
    "bash": 'eval "$(coldload completion bash)"',
    "zsh": 'eval "$(coldload completion zsh)"',
    "fish": "coldload completion fish | source",
}


@pytest.fixture
def surroundings(tmp_path: Path) -> Mapping[str, str]:
    """The environment of somebody with one archive and one run, who has nothing else."""
    (tmp_path / "archives" / "my-own-page").mkdir(parents=True)
    (tmp_path / "others" / "other-page").mkdir(parents=True)
    (tmp_path / "runs" / "mine-20260101T000000Z").mkdir(parents=True)
    (tmp_path / "runs" / "mine-20260101T000000Z" / "plan.jsonl").touch()
    (tmp_path / "home").mkdir()
    return {
        "PATH": f"{PROGRAMS}:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "COLDLOAD_ARCHIVES": str(tmp_path / "archives"),
        "TERM": "dumb",
    }


def answers(line: str, surroundings: Mapping[str, str], folder: Path) -> list[str]:
    """What coldload tells bash of a line whose end is being completed. It says nothing else."""
    asking = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1", "IFS": "\v"}
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" 8>&1 9>&2 1>said', str(PROGRAMS / "coldload")],
        env={**surroundings, **asking},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    said = folder / "said"
    assert (said.read_text(), done.stderr) == ("", "")
    said.unlink()
    return [answer.strip() for answer in done.stdout.split("\v")]


@pytest.mark.parametrize(
    ("line", "among"),
    [
        ("coldload cal", "calibrate"),
        ("coldload load my", "my-own-page"),
        ("coldload verify ag", "agency"),  # ships, and is not made yet
        ("coldload load agency --pro", "--protocol"),
        ("coldload load agency --protocol h", "h3"),
        ("coldload load agency --link 4", "4g"),
        ("coldload load agency --variant core,inline_i", "core,inline_images"),
        ("coldload run protocols-", "protocols-2012"),
        ("coldload plan demo --only ", "protocol="),
        ("coldload plan demo --only link=dsl", "link=dsl"),
        ("coldload report mi", "mine-20260101T000000Z"),
        ("coldload show la", "latest"),
        ("coldload compare latest runs/", "runs/mine-20260101T000000Z/"),
        ("coldload import arch", "archives/"),
        ("coldload completion f", "fish"),
        ("coldload versus my", "my-own-page"),
        ("coldload versus mi", "mine-20260101T000000Z"),
        ("coldload versus agency ag", "agency"),
        ("coldload versus agency agency:co", "agency:core"),
        ("coldload versus agency agency:core,inline_i", "agency:core,inline_images"),
        ("coldload load agency --link no", "none"),
        ("coldload load agency --link 2012-10", "2012-10mbps-20ms"),
        ("coldload versus agency agency:core --link 2012-10", "2012-10mbps"),
        ("coldload calibrate --link 2012-10", "2012-10mbps"),
        ("coldload load --archives others ot", "other-page"),
        ("coldload load --archives oth", "others/"),
    ],
)
def test_names_are_completed(line: str, among: str, surroundings: Mapping[str, str], tmp_path: Path) -> None:
    def files() -> list[Path]:
        return sorted(tmp_path.rglob("*"))

    before = files()
    assert among in answers(line, surroundings, tmp_path)
    assert files() == before


def test_a_link_that_stands_for_several_is_no_answer_where_one_is_taken(
    surroundings: Mapping[str, str], tmp_path: Path
) -> None:
    assert "2012-10mbps" not in answers("coldload load agency --link 2012-10", surroundings, tmp_path)


def test_what_has_no_names_is_not_completed(surroundings: Mapping[str, str], tmp_path: Path) -> None:
    assert answers("coldload run demo --trials ", surroundings, tmp_path) == [""]
    assert answers("coldload load nosuch", {**surroundings, "COLDLOAD_ARCHIVES": "none"}, tmp_path) == [""]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(shell: str, surroundings: Mapping[str, str], tmp_path: Path) -> None:
    """A line is typed, with Tab, made harmless by an `echo` before it, and run."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    typed = (
        f"{FIRST[shell]}{SWITCHED_ON[shell]}\r",
        "coldload load my-o\t--prot\thttp1-cl\t\x01echo \r",
        "exit\r",
    )
    shown = said_in_terminal(SHELLS[shell], "".join(typed), surroundings, tmp_path)
    assert "\ncoldload load my-own-page --protocol http1-close" in shown.replace("\r", "\n"), shown


def said_in_terminal(
    words: tuple[str, ...], typed: str, surroundings: Mapping[str, str], folder: Path
) -> str:
    """All that a program shows on a terminal of its own, on which this is typed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ("setsid", "--ctty", "--wait", *words),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=dict(surroundings),
        cwd=folder,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    with open(ours, "rb", buffering=0) as terminal:  # noqa: PTH123  # no path
        try:
            while more := terminal.read(4096):
                shown += more
        except OSError:  # the kernel says so when the last process has left the terminal
            pass
    process.wait()
    return shown.decode(errors="replace")
