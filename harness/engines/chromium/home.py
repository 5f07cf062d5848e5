"""A fresh home for one browser: empty profile with the first preferences, NSS database that trusts the CA."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.engines.chromium.policy import LOCAL_STATE, Launch, preferences
from harness.engines.fonts import CONFIGURATION
from harness.model.engine import DESKTOP, Device
from harness.system.program import Command, find_program

# What a profile keeps of pages. All else goes: what it has learned of servers (Network Persistent State: HTTP/2,
# Alt-Svc, QUIC and its round trips; TransportSecurity: HSTS; Network Action Predictor: whom to connect to ahead) would
# make connections warm, too.
KEPT_OF_PAGES = (
    "Cache",
    "Code Cache",
    "Cookies",
    "Cookies-journal",
    "File System",
    "IndexedDB",
    "Local Storage",
    "Service Worker",
    "WebStorage",
    "databases",
)

# Chromium's reports of its crashes (Crashpad): minidumps. In these, the stream that tells of the crash, by its number;
# SI_USER of sigaction(2): another program sent the signal; which kind of process it was.
REPORTS = Path(".config", "chromium", "Crash Reports")
EXCEPTION, SENT = 6, 0
KIND = re.compile(rb"ptype\0\0\0(.)\0\0\0([a-z-]+)", re.DOTALL)


@dataclass(frozen=True)
class ChromiumHome:
    """The folder one Chromium process lives in; thrown away with the trial."""

    folder: Path
    page_hosts: tuple[str, ...] | None = ()
    secure_origins: tuple[str, ...] = ()
    device: Device = DESKTOP
    quic: bool = False
    relayed: bool = False
    local: Mapping[str, str] = field(default_factory=dict)
    stream_window_bytes: int | None = None
    log_bodies: bool = False
    cpu_slowdown: int = 1
    taken_key: str | None = None

    @property
    def profile(self) -> Path:
        return self.folder / "profile"

    @property
    def netlog(self) -> Path:
        return self.folder / "netlog.json"

    @property
    def pid_file(self) -> Path:
        return self.folder / "pid"

    @property
    def pid(self) -> int | None:
        """The browser's main process, once it has started."""
        try:
            return int(self.pid_file.read_text())
        except (OSError, ValueError):
            return None

    @property
    def crashes(self) -> tuple[str, ...]:
        """The processes that have crashed by themselves, as `renderer by SIGTRAP`; nobody's kill is among them."""
        reports = sorted((self.folder / REPORTS).glob("*/*.dmp"))
        return tuple(crash for report in reports if (crash := crash_of(report.read_bytes())))

    def make(self, trust: Path | None) -> None:
        """Fill it; `trust` is a folder with an NSS database (cert9.db, key4.db, pkcs11.txt), if there is one."""
        (self.profile / "Default").mkdir(parents=True)
        (self.profile / "Default" / "Preferences").write_text(json.dumps(preferences(self.page_hosts or ())))
        (self.profile / "Local State").write_text(json.dumps(LOCAL_STATE))
        if trust is not None:
            shutil.copytree(trust, self.folder / ".pki" / "nssdb")

    def start_over(self, trust: Path | None, keep: Iterable[str] = KEPT_OF_PAGES) -> None:
        """Empty it but for what the profile keeps of pages, and fill it anew."""
        aside = self.folder.with_name(f"{self.folder.name}-aside")
        aside.mkdir()
        for name in keep:
            if (self.profile / "Default" / name).exists():
                (self.profile / "Default" / name).rename(aside / name)
        shutil.rmtree(self.folder)
        self.make(trust)
        for kept in aside.iterdir():
            kept.rename(self.profile / "Default" / kept.name)
        aside.rmdir()

    def launch(self) -> Launch:
        return Launch(
            self.profile,
            self.netlog,
            self.page_hosts,
            self.secure_origins,
            self.device,
            log_bodies=self.log_bodies,
            quic=self.quic,
            relayed=self.relayed,
            local=self.local,
            stream_window_bytes=self.stream_window_bytes,
            cpu_slowdown=self.cpu_slowdown,
            taken_key=self.taken_key,
        )

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def crash_of(report: bytes) -> str | None:
    """Which process a report is of and the signal that ended it; None where another program sent that, or none did."""
    try:
        _, _, count, directory = struct.unpack_from("<4I", report)
        places = (struct.unpack_from("<3I", report, directory + 12 * number) for number in range(count))
        told = next(place for kind, _, place in places if kind == EXCEPTION)
        number, cause = struct.unpack_from("<2I", report, told + 8)
        name = signal.Signals(number).name
    except (struct.error, StopIteration, ValueError):  # one that Chromium makes of what is odd and goes on
        return None
    kind = KIND.search(report)
    process = kind[2][: kind[1][0]].decode() if kind else "process"
    return None if cause == SENT else f"{process} by {name}"


def write_launcher(path: Path, network: Path | None, current_home: Path) -> Path:
    """Write the script. `network` is the client host's namespace file; None: the caller's own.

    `current_home` is a symbolic link to the home of the browser about to start.
    """
    chromium = Command.of(find_program("chromium")).on(network).as_ordinary_user()
    words = shlex.join(chromium.full_argv)
    path.write_text(
        "#!/bin/sh\n"
        f"home=$(readlink {shlex.quote(str(current_home))})\n"
        'echo $$ >"$home/pid"\n'
        'cd "$home"\n'
        'HOME="$home" TMPDIR="$home" XDG_CONFIG_HOME="$home/.config" XDG_CACHE_HOME="$home/.cache" \\\n'
        f"FONTCONFIG_FILE={shlex.quote(str(CONFIGURATION))} \\\n"
        f'exec {words} "$@" 2>>"$home/chromium.log"\n'
    )
    path.chmod(0o755)
    return path
