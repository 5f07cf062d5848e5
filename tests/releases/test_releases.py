"""The two commands of the README in bare trees, as a stranger gives them: as root, and as a user with sudo.

And the steps of the Containerfile, likewise.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.releases import baretree

BARE = ("ca-certificates", "git", "make", "sudo")
COMMANDS = ("git clone --quiet --depth 1 file:///checkout coldload", "make demo-quick", "make test")


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
        _in(
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


def test_the_steps_of_the_containerfile(tmp_path: Path) -> None:
    tree = tmp_path / "image"
    baretree.make(tree, "bookworm", ("ca-certificates", "python3"))
    (tree / "checkout").mkdir()
    _in(tree, ["python3", "/checkout/tests/system/containerfile.py", "/checkout"])
    _in(tree, ["/coldload/.venv/bin/coldload", "doctor"])
    for protocol in ("http1", "h2", "h3", "spdy"):
        _in(tree, ["sh", "-c", f"cd /coldload && .venv/bin/coldload load dummy-2012 --protocol {protocol}"])


def _in(tree: Path, words: list[str]) -> None:
    subprocess.run(baretree.started(tree, words), cwd=baretree.CHECKOUT, check=True)
