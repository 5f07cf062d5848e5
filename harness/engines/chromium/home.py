"""A fresh home for one browser: empty profile with the first preferences, NSS database that trusts the CA."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shlex
import shutil
import signal
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.engines.chromium.policy import LOCAL_STATE, Launch, preferences
from harness.engines.fonts import CONFIGURATION
from harness.errors import Outcome, TrialFailed
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

# Of the launcher's own, beside what the browser is started with.
VARIABLES = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "FONTCONFIG_FILE", "PWD", "OLDPWD")
NETLOG_END = b"}\n"
LOOK_S, END_S = 0.002, 10.0
LARGEST_NETLOG_BYTES = 300_000_000  # reading it takes some ten times that; bodies may be as much again

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
    def netlog_is_whole(self) -> bool:
        """Whether Chromium has written its end: an event is followed by a comma, the last thing by a brace."""
        try:
            with self.netlog.open("rb") as log:
                log.seek(-len(NETLOG_END), os.SEEK_END)
                return log.read() == NETLOG_END
        except OSError:  # there is none, or nothing in it
            return False

    def refuse_large_netlog(self) -> None:
        """TrialFailed with `page-error` when the page has made it larger than anybody can read."""
        most = LARGEST_NETLOG_BYTES * (2 if self.log_bodies else 1)
        if self.netlog.exists() and self.netlog.stat().st_size > most:
            raise TrialFailed(
                Outcome.PAGE_ERROR, f"the page asks for so much that the NetLog is larger than {most:,} bytes"
            )

    def log_is_whole_within(self, seconds: float) -> bool:
        """Whether Chromium has ended its NetLog, or is gone, by then."""
        until = time.monotonic() + seconds
        with self._ends_within() as ends:
            while not self.netlog_is_whole and not ends(LOOK_S):
                if time.monotonic() > until:
                    return False
        return True

    def wait_for_end(self) -> None:
        """Until its main process is gone, which writes into the profile to the last; not for ever."""
        with self._ends_within() as ends:
            ends(END_S)

    @contextlib.contextmanager
    def _ends_within(self) -> Iterator[Callable[[float], bool]]:
        """What waits for the end of the main process so many seconds, and tells whether it has come."""
        try:
            process = os.pidfd_open(self.pid or 0)
        except OSError:  # it is gone, or never started
            yield lambda _: True
            return
        try:
            yield lambda seconds: bool(select.select([process], [], [], seconds)[0])
        finally:
            os.close(process)

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
        reports: dict[str, bytes] = {}
        for _ in range(2):  # Crashpad may move a report to another folder meanwhile
            for path in sorted((self.folder / REPORTS).glob("*/*.dmp")):
                with contextlib.suppress(FileNotFoundError):
                    reports[path.name] = path.read_bytes()
        return tuple(crash for report in reports.values() if (crash := crash_of(report)))

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
        entries = (struct.unpack_from("<3I", report, directory + 12 * number) for number in range(count))
        told = next(offset for kind, _, offset in entries if kind == EXCEPTION)
        number, cause = struct.unpack_from("<2I", report, told + 8)
        name = signal.Signals(number).name
    except (struct.error, StopIteration, ValueError):  # one that Chromium makes of what is odd and goes on
        return None
    kind = KIND.search(report)
    process = kind[2][: kind[1][0]].decode() if kind else "process"
    return None if cause == SENT else f"{process} by {name}"


class Launcher:
    """The script that a driver takes for Chromium, which enters the client host and a home.

    `network` is the client host's namespace file; None: the caller's own. `current_home` is a symbolic link to the home
    of the browser about to start.

    Debian's `chromium` is a shell script that runs a dozen programs before it starts the browser. `learn` sees from the
    first browser what that comes to, so that later ones start the same way, and at once.
    """

    def __init__(self, path: Path, network: Path | None, current_home: Path) -> None:
        self.path = path
        self._network = network
        self._current_home = current_home
        self._is_short = False
        self._write(
            (find_program("chromium"),),
            {},
            'echo $# >"$home/arguments"; cat /proc/$$/environ >"$home/environment"\n',
        )

    def learn(self, home: ChromiumHome) -> None:
        """Start browsers as the one in this home was started; the first that runs tells."""
        if self._is_short:
            return
        try:
            process = Path("/proc", str(home.pid))
            words = process.joinpath("cmdline").read_text().split("\0")[:-1]
            added = int((home.folder / "arguments").read_text())
            before, now = (_variables(path) for path in (home.folder / "environment", process / "environ"))
        except (OSError, ValueError):  # it has gone already
            return
        own = words[: len(words) - added]
        if len(own) > 0 and Path(own[0]).is_absolute() and all(word.startswith("--") for word in own[1:]):
            changed = now.items() - before.items()
            self._write(own, {name: text for name, text in sorted(changed) if name not in VARIABLES})
            self._is_short = True

    def _write(self, words: Sequence[str], variables: Mapping[str, str], first: str = "") -> None:
        chromium = Command.of(*words).on(self._network).as_ordinary_user()
        given = "".join(f"{name}={shlex.quote(text)} " for name, text in variables.items())
        text = (
            "#!/bin/sh\n"
            f"cd -P {shlex.quote(str(self._current_home))}\n"
            "home=$PWD\n"
            'echo $$ >"$home/pid"\n'
            f"{first}"
            'HOME="$home" TMPDIR="$home" XDG_CONFIG_HOME="$home/.config" XDG_CACHE_HOME="$home/.cache" \\\n'
            f"FONTCONFIG_FILE={shlex.quote(str(CONFIGURATION))} {given}\\\n"
            f'exec {shlex.join(chromium.full_argv)} "$@" 2>>"$home/chromium.log"\n'
        )
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.chmod(0o755)
        new.replace(self.path)


def _variables(environment: Path) -> dict[str, str]:
    """The environment of a process, as /proc tells it."""
    pairs = (line.partition("=") for line in environment.read_text().split("\0") if line)
    return {name: text for name, _, text in pairs}
