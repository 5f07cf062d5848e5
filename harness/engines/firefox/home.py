"""The Firefox of one trial: a fresh profile in a folder to live in, its process, and the hops around it."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.engines.browser import Surroundings
from harness.engines.browserlog import BrowserLog
from harness.engines.firefox import log
from harness.engines.firefox.driver import FirefoxBrowser, Marionette, MarionetteFailed, MarionetteSilent
from harness.engines.firefox.policy import USUAL, WINDOW, Preference, as_file, preferences
from harness.engines.relay import hops
from harness.engines.steered import (
    CRASHES,
    END_S,
    START_TIMEOUT_S,
    SteeredHome,
    environment,
    lived_in,
    number_in,
)
from harness.errors import TestbedFailed
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.system.folders import set_up_engines
from harness.system.netns import Host
from harness.system.process import Process, running
from harness.system.processtree import kill_family
from harness.system.program import Command, find_program, version_line

PROGRAM = "firefox-esr"
LOOPBACK = "127.0.0.1"
PORT = "MarionetteActivePort"
FIRST_TRY_S = 30.0  # a start takes one second or two, on a busy machine 8
QUIT_S = 20.0
# What a first start makes and every later one would make anew. Nothing of a page or of a server is in it.
TEMPLATE = ("compatibility.ini", "startupCache", "xulstore.json")
MESSAGES = "firefox.log"
ENDED = re.compile(r"process \d+ exited on signal (\d+)")
CONTENT_PROCESS, TAB, IN_RESERVE = b"-contentproc", b"tab", b"Web Content"


@dataclass(frozen=True)
class FirefoxHome(SteeredHome):
    """The home of one Firefox; with `keeps_bodies` its log holds those of all answers."""

    keeps_bodies: bool = False
    name = "Firefox"

    @property
    def profile(self) -> Path:
        return self.folder / "profile"

    @property
    def log(self) -> Path:
        """What its own process told of the network."""
        return self.folder / "requests.json"

    @property
    def crashes(self) -> tuple[str, ...]:
        """Debian's Firefox has no crash reporter; what it prints tells which signal ended a process of its own."""
        text = self.messages.read_text(errors="replace") if self.messages.exists() else ""
        ended = [number for number in map(int, ENDED.findall(text)) if number in CRASHES]
        return tuple(f"process by {signal.Signals(number).name}" for number in ended)

    @property
    def messages(self) -> Path:
        """What it printed."""
        return self.folder / MESSAGES

    def holds_pages(self, command_line: bytes, name: bytes) -> bool:
        """Those in reserve start as it loads; a fork has its words apart by spaces."""
        words = command_line.rstrip(b"\0").replace(b"\0", b" ").split(b" ")
        return CONTENT_PROCESS in words and words[-1] == TAB and name.strip() != IN_RESERVE

    def own_log(self) -> BrowserLog:
        return log.read(self.log)

    def make(self, template: Path) -> None:
        """Fill the folder: a profile that has never seen anything, and trusts the testbed's authority.

        TestbedFailed when it cannot be written.
        """
        around = self.surroundings
        try:
            shutil.copytree(template, self.profile)
            for file in around.trust.iterdir() if around.trust else ():
                shutil.copy(file, self.profile / file.name)
        except OSError as error:
            why = error.args[0][0][-1] if isinstance(error, shutil.Error) else error
            raise TestbedFailed(f"Firefox's profile cannot be written: {why}") from error
        write_preferences(self.profile, preferences(around.protocol, around.hosts, around.secure_origins))

    @contextlib.contextmanager
    def start(self) -> Iterator[FirefoxBrowser]:
        """A fresh browser for the length of the block; TestbedFailed when it does not start."""
        client = self.surroundings.client
        with self.hops_running() as waiting, contextlib.ExitStack() as stack:
            process, session = stack.enter_context(_steered(self.folder, self.profile, client))
            browser = FirefoxBrowser(session, self.log, process, keeps_bodies=self.keeps_bodies)
            stack.callback(browser.close)
            browser.prepare(
                self.surroundings.start_url,
                {hop.scheme: hop.port for hop in self.hops},
                quic=self.surroundings.protocol.over_quic,
            )
            waiting.close()
            yield browser


class FirefoxMaker:
    """Makes Firefoxes from one template, which is made when it is first needed and kept."""

    def __init__(self, folder: Path, _stack: contextlib.ExitStack, _network: Path | None) -> None:
        self._folder = folder
        self._template = folder / "firefox-template"

    @staticmethod
    def programs() -> Mapping[str, Callable[[], str]]:
        return {"firefox": partial(version_line, PROGRAM, "--version")}

    @staticmethod
    def settings() -> Mapping[str, object]:
        return {"preferences": USUAL, "window": list(WINDOW)}

    @staticmethod
    def refuse_unless_usable() -> None:
        find_program(PROGRAM, f"`{set_up_engines(Engine.FIREFOX)}` installs it")

    def prepare(self, condition: Condition) -> None:
        del condition  # the template is the same for all
        if not self._template.exists():
            made = self._folder / "firefox-first"
            try:
                make_template(made, self._template)
            finally:
                shutil.rmtree(made, ignore_errors=True)

    @contextlib.contextmanager
    def fresh(
        self, name: str, condition: Condition, surroundings: Surroundings, *, bodies: bool
    ) -> Iterator[FirefoxHome]:
        self.prepare(condition)
        addresses = (
            {}
            if surroundings.protocol.over_quic  # which no hop carries
            else {**surroundings.mentioned, **surroundings.local}
        )
        with lived_in(self._folder / f"home-{name}") as folder:
            home = FirefoxHome(folder, surroundings, hops(folder, surroundings, addresses), bodies)
            try:
                home.make(self._template)
                yield home
            finally:
                if home.pid is not None:
                    kill_family(home.pid)


def make_template(folder: Path, template: Path) -> None:
    """Start a Firefox once where it reaches nothing, end it in order, and keep what its first start has made."""
    profile = folder / "profile"
    profile.mkdir(parents=True)
    write_preferences(profile, USUAL)
    with _steered(folder, profile, None) as (process, session):
        try:
            session.ask("Marionette:Quit", QUIT_S, flags=["eAttemptQuit"])
        except MarionetteFailed as error:
            raise TestbedFailed(f"Firefox does not end: {error}") from error
        process.ends_within(QUIT_S)
    template.mkdir()
    for name in TEMPLATE:
        made = profile / name
        if made.is_dir():
            shutil.copytree(made, template / name)
        elif made.exists():
            shutil.copy(made, template / name)


def write_preferences(profile: Path, found: Mapping[str, Preference]) -> None:
    """Write a profile's user.js; TestbedFailed when it cannot be written."""
    try:
        (profile / "user.js").write_text(as_file(found), encoding="utf-8")
    except OSError as error:
        raise TestbedFailed(f"Firefox's profile cannot be written: {error}") from error


@contextlib.contextmanager
def _steered(folder: Path, profile: Path, client: Host | None) -> Iterator[tuple[Process, Marionette]]:
    """A running Firefox that can be steered; its whole family is gone afterwards.

    One in thousands stands still as it starts. It has seen no page yet: it is ended, and another one takes its profile.
    """
    with contextlib.ExitStack() as stack:
        began = time.monotonic()
        try:
            steered = stack.enter_context(_started(folder, profile, client, FIRST_TRY_S))
        except TestbedFailed:
            if time.monotonic() - began < FIRST_TRY_S:
                raise
            steered = stack.enter_context(_started(folder, profile, client, START_TIMEOUT_S))
        yield steered


@contextlib.contextmanager
def _started(
    folder: Path, profile: Path, client: Host | None, timeout_s: float
) -> Iterator[tuple[Process, Marionette]]:
    """TestbedFailed when nothing comes of it, or nothing for so long."""
    width, height = WINDOW
    command = Command.of(
        PROGRAM,
        *("--headless", "--no-remote", "--marionette", "--remote-allow-system-access"),
        *("--profile", profile, "--width", width, "--height", height, "about:blank"),
    )
    command = command.on(client.path if client else None).as_ordinary_user()
    port = profile / PORT
    port.unlink(missing_ok=True)
    with running(
        command.with_environment(**_environment(folder)).named("Firefox"),
        folder / MESSAGES,
        ready=lambda: number_in(port) is not None,
        ready_timeout_s=timeout_s,
        cwd=folder,
    ) as process:
        (folder / "pid").write_text(str(process.pid))
        try:
            yield process, _session(process, number_in(port) or 0, client, timeout_s)
        finally:
            kill_family(process.pid)


def _environment(home: Path) -> dict[str, str]:
    """What of a desktop there is: nothing."""
    return {
        **environment(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "MOZ_CRASHREPORTER_DISABLE": "1",
        "MOZ_DATA_REPORTING": "0",
        "MOZ_REMOTE_SETTINGS_DEVTOOLS": "1",
    }


def _session(process: Process, port: int, client: Host | None, timeout_s: float) -> Marionette:
    asked = "its port"
    try:
        with client.entered() if client else contextlib.nullcontext():
            connected = socket.create_connection((LOOPBACK, port), timeout=timeout_s)
        asked = "hello"
        made = Marionette(connected, timeout_s)
        asked = "WebDriver:NewSession"
        made.ask(asked, timeout_s, pageLoadStrategy="normal", unhandledPromptBehavior="dismiss")
    except (OSError, MarionetteFailed) as error:
        raise _silent(process, error, asked) from error
    return made


def _silent(process: Process, error: Exception, asked: str) -> TestbedFailed:
    """Why nothing comes of it: it has died as it started, or else it does not answer."""
    if not isinstance(error, MarionetteSilent):
        process.ends_within(END_S)
    if not process.alive:
        return TestbedFailed(f"Firefox did not start: {process.ending}: {error}")
    return TestbedFailed(f"Firefox's Marionette does not answer ({asked}): {error}")
