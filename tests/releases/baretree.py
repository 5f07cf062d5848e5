"""A bare tree of a distribution that commands run in as on a machine of its own; its packages can be changed.

    python -m tests.releases.baretree TREE -- PROGRAM...      starts the program there, as root

Unlike a root of ours (harness.system.roots) it is written to. It has this machine's network, all of it: nothing
restricts it to registries of packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.system import syscalls

CHECKOUT = Path(__file__).resolve().parents[2]
KERNEL = ("dev", "proc", "sys")
# The machine's way to the registries of packages, and whom it trusts there.
SETTINGS = (
    Path("/etc/resolv.conf"),
    Path("/etc/hosts"),
    Path("/etc/pip.conf"),
    Path("/etc/ssl/certs/ca-certificates.crt"),
    *Path("/etc/apt/apt.conf.d").glob("*registry*"),
)
OF_A_USER = (".npmrc", ".config/go", ".config/pip")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PASSED_ON = (
    "SSL_CERT_FILE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "TERM",
)


def make(folder: Path, suite: str, packages: Sequence[str], mirror: Sequence[str] = ()) -> None:
    """A minimal tree, with this machine's settings for registries."""
    words = [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={','.join(packages)}",
        suite,
        str(folder),
    ]
    subprocess.run([*words, *mirror], check=True)
    for path in SETTINGS:
        if path.exists():
            copy = folder / path.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)
            shutil.copy(path, copy)
    give_settings(folder / "root")


def give_settings(home: Path) -> None:
    """A user's settings for registries."""
    for name in OF_A_USER:
        mine = Path.home() / name
        if mine.is_dir():
            shutil.copytree(mine, home / name, dirs_exist_ok=True)
        elif mine.exists():
            shutil.copy(mine, home / name)


def started(tree: Path, words: Sequence[str], **options: Mapping[str, str]) -> list[str]:
    """The command that runs the words in the tree."""
    settings = [f"{name}={os.environ[name]}" for name in PASSED_ON if name in os.environ]
    settings += [
        f"PATH={PATH}",
        "HOME=/root",
        "LC_ALL=C.UTF-8",
        *(f"{name}={value}" for name, value in options.items()),
    ]
    entry = [sys.executable, "-m", "tests.releases.baretree", str(tree), "--"]
    return [*entry, "env", "-i", *settings, *words]


def enter(tree: Path) -> None:
    """Make the tree the root of this process, in a mount namespace that vanishes with it."""
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("none", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount(str(tree), str(tree), "", syscalls.MS_BIND)
    for name in KERNEL:
        syscalls.mount(f"/{name}", str(tree / name), "", syscalls.MS_BIND | syscalls.MS_REC)
    for name, mode in (("tmp", "1777"), ("run", "755")):
        syscalls.mount("tmpfs", str(tree / name), "tmpfs", syscalls.MS_NOSUID, f"mode={mode}")
    if (tree / "checkout").is_dir():
        syscalls.mount(str(CHECKOUT), str(tree / "checkout"), "", syscalls.MS_BIND)
    os.chdir(tree)
    syscalls.pivot_root()
    os.chdir("/")


if __name__ == "__main__":
    at = sys.argv.index("--")
    enter(Path(sys.argv[1]))
    os.execvp(sys.argv[at + 1], sys.argv[at + 1 :])  # noqa: S606
