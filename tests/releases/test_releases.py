"""The two commands of the README in bare trees, as a stranger gives them: as root, and as a user with sudo.

And the steps of the Containerfile, likewise.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.releases import baretree

BARE = ("ca-certificates", "git", "make", "sudo")
CLONE = "git clone --quiet --depth 1 file:///checkout coldload"
DEMO = "make demo-quick"
COMMANDS = (CLONE, DEMO, DEMO, "make test")  # the second demo, with all set up, is aimed to take 75 s
REPORT = r"^report: \S*runs/demo-quick-\S+/report\.html$"


@pytest.mark.parametrize(("suite", "user"), [("bookworm", "root"), ("trixie", "stranger")])
def test_the_two_commands_of_the_readme(tmp_path: Path, suite: str, user: str) -> None:
    tree = tmp_path / suite
    baretree.make(tree, suite, BARE)
    (tree / "checkout").mkdir()
    home = Path("/root") if user == "root" else Path("/home", user)
    if user != "root":
        (tree / "etc/sudoers.d" / user).write_text(f"{user} ALL=(ALL) NOPASSWD: ALL\n")
        _in(tree, ["useradd", "--create-home", "--shell", "/bin/bash", user])
        baretree.give_settings(tree / home.relative_to("/"))
        _in(tree, ["chown", "-R", user, str(home)])
    _in(tree, ["git", "config", "--system", "--add", "safe.directory", "*"])
    for number, command in enumerate(COMMANDS):
        folder = home / "coldload" if number else home
        began = time.monotonic()
        printed = _in(
            tree,
            [
                "su",
                "--whitelist-environment=" + ",".join(baretree.PASSED_ON),
                "-",
                user,
                "-c",
                f"cd {folder} && {command}",
            ],
        )
        print(f"{suite}, as {user}: {command}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        if command == DEMO:
            assert re.search(REPORT, printed, re.MULTILINE), printed[-500:]


@pytest.mark.parametrize(
    ("suite", "release", "protocols"),
    [
        ("bookworm", "12", ("http1", "h2", "h3", "spdy")),
        ("trixie", "13", ("http1", "h2", "h3")),  # SPDY would make a root of Debian 12 first
    ],
)
def test_the_steps_of_the_containerfile(
    tmp_path: Path, suite: str, release: str, protocols: tuple[str, ...]
) -> None:
    tree = tmp_path / "image"
    baretree.make(tree, suite, ("ca-certificates", "python3"))
    (tree / "checkout").mkdir()
    _in(tree, ["python3", "/checkout/tests/system/containerfile.py", "/checkout", f"DEBIAN={release}"])
    _in(tree, ["/coldload/.venv/bin/coldload", "doctor"])
    for protocol in protocols:
        _in(tree, ["sh", "-c", f"cd /coldload && .venv/bin/coldload load dummy-2012 --protocol {protocol}"])


def _in(tree: Path, words: list[str]) -> str:
    """What the command printed, which is seen here while it runs."""
    entry = baretree.started(tree, words)
    printed = ""
    with subprocess.Popen(entry, cwd=baretree.CHECKOUT, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        for line in command.stdout:
            print(line, end="", flush=True)
            printed += line
    assert command.returncode == 0, words
    return printed
