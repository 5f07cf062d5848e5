"""The client's side of DNS: which name server its programs ask.

The files of /etc are covered by bind mounts inside the run's own mount namespace; the machine's are untouched.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

RESOLV_CONF = Path("/etc/resolv.conf")


def hosts_file(machine: str) -> str:
    """The names that are not asked for: some browsers look up the machine's. One in full may be a page's."""
    return f"127.0.0.1 localhost {'' if '.' in machine else machine}".strip() + "\n"


STATIC_FILES = {
    Path("/etc/hosts"): hosts_file(socket.gethostname()),
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

    def use(self, name_server: str) -> None:
        """From now on programs that start ask this address, once a second, up to three times."""
        self._file.write_text(f"nameserver {name_server}\noptions timeout:1 attempts:3\n")
