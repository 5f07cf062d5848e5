"""The client's side of DNS: which name server its programs ask.

The files of /etc are covered by bind mounts inside the run's own mount namespace; the machine's are untouched.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from harness.errors import TestbedFailed

RESOLV_CONF = Path("/etc/resolv.conf")


def hosts_file(machine: str) -> str:
    """The names that are not asked for: some browsers look up the machine's. One in full may be a page's."""
    return f"127.0.0.1 localhost {'' if '.' in machine else machine}".strip() + "\n"


HOSTS = Path("/etc/hosts")
STATIC_FILES = {
    HOSTS: hosts_file(socket.gethostname()),
    Path("/etc/nsswitch.conf"): "passwd: files\ngroup: files\nhosts: files dns\n",
}


class Resolver:
    """The resolver configuration of the enclosure. One name server at a time, so one load at a time."""

    def __init__(self, folder: Path, bind: Callable[[Path, Path], None]) -> None:
        """`folder` holds the covering files; `bind(source, target)` mounts one file over another."""
        folder.mkdir(parents=True, exist_ok=True)
        for target, text in STATIC_FILES.items():
            cover = folder / target.name
            cover.write_text(text)
            if target.exists():
                bind(cover, target)
        self._hosts = folder / HOSTS.name
        self._file = self._cover_resolv_conf(folder, bind)

    @staticmethod
    def _cover_resolv_conf(folder: Path, bind: Callable[[Path, Path], None]) -> Path:
        """The file to write to. A link into /run, as systemd makes it, dangles here: then its target is ours."""
        target = RESOLV_CONF.resolve()
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("")
            return target
        cover = folder / "resolv.conf"
        cover.write_text("")
        bind(cover, target)
        return cover

    def use(self, name_server: str, known: Mapping[str, str] | None = None) -> None:
        """From now on programs that start ask this address, once a second, up to three times.

        They do not ask for the `known` names, whose addresses these are.
        """
        lines = [f"{address} {name}\n" for name, address in sorted((known or {}).items())]
        if lines and not HOSTS.exists():
            raise TestbedFailed(
                f"there is no {HOSTS} that could tell names without asking; make an empty one"
            )
        self._hosts.write_text("".join([STATIC_FILES[HOSTS], *lines]))
        self._file.write_text(f"nameserver {name_server}\noptions timeout:1 attempts:3\n")
