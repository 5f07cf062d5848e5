"""The WebKit of one trial: a folder to live in, a display of its own, its process and its Inspector."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.engines import fonts
from harness.engines.browser import DISPLAY, Surroundings
from harness.engines.browserlog import BrowserLog
from harness.engines.relay import hops, program
from harness.engines.steered import SteeredHome, begun, environment, lived_in, number_in, version_of
from harness.engines.webkit import log
from harness.engines.webkit.driver import INSPECTOR_PORT, LOOPBACK, VIEWPORT, WebKitBrowser, inspecting
from harness.errors import TestbedFailed, TrialFailed
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from harness.system.enclosure import covered
from harness.system.folders import set_up_engines
from harness.system.process import conversing, running
from harness.system.processtree import kill_family, stopped
from harness.system.program import Command, find_program, version_line

PYTHON = "/usr/bin/python3"  # Debian's, whose packages bring WebKit
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")  # whom GnuTLS trusts on Debian
DISPLAY_SOCKET, DISPLAY_PID = "display", "display.pid"
WEB_PROCESS = b"WebKitWebProcess"
SANDBOX = b"bwrap"
MODULE = "webkit.program"
# What of a desktop there is: a display, and nothing else that a program of GNOME looks for.
DESKTOP: Mapping[str, str] = {
    "WAYLAND_DISPLAY": DISPLAY_SOCKET,
    "GDK_BACKEND": "wayland",
    "GSETTINGS_BACKEND": "memory",
    "GIO_USE_VFS": "local",
    "GIO_USE_NETWORK_MONITOR": "base",
    "GTK_A11Y": "none",
    "NO_AT_BRIDGE": "1",
    "DBUS_SESSION_BUS_ADDRESS": "disabled:",
    "WEBKIT_INSPECTOR_HTTP_SERVER": f"{LOOPBACK}:{INSPECTOR_PORT}",
}


@dataclass(frozen=True)
class WebKitHome(SteeredHome):
    """The home of one WebKit; with `keeps_bodies` its log holds those of all answers."""

    keeps_bodies: bool = False
    name = "WebKit"

    @property
    def log(self) -> Path:
        """What the Inspector told."""
        return self.folder / "inspector.jsonl"

    @property
    def programs(self) -> Mapping[str, int]:
        display = number_in(self.folder / DISPLAY_PID)
        return {**({} if display is None else {DISPLAY: display}), **super().programs}

    @property
    def crashes(self) -> tuple[str, ...]:
        return (self.crash.read_text(encoding="utf-8"),) if self.crash.exists() else ()

    @property
    def crash(self) -> Path:
        """How the page's process crashed, if it did."""
        return self.folder / "crash"

    def holds_pages(self, command_line: bytes, _name: bytes) -> bool:
        return WEB_PROCESS in command_line and SANDBOX not in command_line

    def own_log(self) -> BrowserLog:
        return log.read(self.log)

    @contextlib.contextmanager
    def start(self) -> Iterator[WebKitBrowser]:
        """A fresh browser on a fresh display for the length of the block; TestbedFailed when one does not start."""
        with self.hops_running() as waiting, contextlib.ExitStack() as stack:
            stack.enter_context(_display(self.folder))
            stack.enter_context(covered(CERTIFICATES, self.surroundings.authority))
            program = stack.enter_context(
                conversing(self.command, self.folder / "webkit.log", cwd=self.folder)
            )
            (self.folder / "pid").write_text(str(program.pid))
            stack.callback(kill_family, program.pid)
            begun(program, self.name)
            inspector = stack.enter_context(inspecting(self.surroundings.client, self.log))
            browser = WebKitBrowser(program, inspector, self.log, self.crash)
            browser.shut_the_door()
            waiting.close()
            yield browser
            if self.keeps_bodies:
                browser.keep_bodies()
            browser.close()

    @property
    def command(self) -> Command:
        """What starts the browser."""
        settings = {
            "viewport": VIEWPORT,
            "readable": [str(fonts.CONFIGURATION.parent)],
            "secure_contexts": bool(self.surroundings.secure_origins),
            "proxies": {hop.scheme: hop.proxy for hop in self.hops},
        }
        command = program(PYTHON, MODULE, settings).on(self.surroundings.client.path).named("WebKit")
        return command.with_environment(**_environment(self.folder))


def _environment(home: Path) -> dict[str, str]:
    """Its own folders, and DESKTOP."""
    return {
        **environment(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local"),
        **DESKTOP,
    }


@contextlib.contextmanager
def _display(folder: Path) -> Iterator[None]:
    """A Wayland compositor that shows nothing to anybody; a window fills its screen. Its socket is in the folder.

    TestbedFailed when it died or is stopped: that is no fault of the page.
    """
    width, height = VIEWPORT
    weston = Command.of(
        "weston",
        "--backend=headless-backend.so",
        "--shell=kiosk-shell.so",
        f"--width={width}",
        f"--height={height}",
        f"--socket={DISPLAY_SOCKET}",
        "--no-config",
        "--idle-time=0",
    )
    command = weston.as_ordinary_user().with_environment(XDG_RUNTIME_DIR=str(folder)).named(DISPLAY)
    ready = (folder / DISPLAY_SOCKET).exists
    with running(command, folder / "display.log", ready=ready, cwd=folder) as process:
        (folder / DISPLAY_PID).write_text(str(process.pid))
        try:
            yield
        except TestbedFailed as error:
            if stopped(process.pid):
                raise TestbedFailed(f"the display is stopped: {error}") from error
            raise
        except TrialFailed:
            process.check_running()
            raise
        process.check()


def version() -> str:
    """WebKitGTK and GTK in one line; EnvironmentLacks when Debian's Python has none."""
    command = program(PYTHON, MODULE, {})
    return version_of(
        replace(command, argv=(*command.argv[:-1], "--version"), unprivileged=False), WebKitHome.name
    )


class WebKitMaker:
    """Makes WebKits, which have nothing in common that would be kept."""

    def __init__(self, folder: Path, _stack: contextlib.ExitStack, _network: Path | None) -> None:
        self._folder = folder

    @staticmethod
    def programs() -> Mapping[str, Callable[[], str]]:
        return {"webkit": version, "weston": lambda: version_line("weston", "--version")}

    @staticmethod
    def settings() -> Mapping[str, object]:
        return {"viewport": list(VIEWPORT), "desktop": DESKTOP}

    @staticmethod
    def refuse_unless_usable() -> None:
        find_program("weston", f"`{set_up_engines(Engine.WEBKIT)}` installs it")
        version()

    def prepare(self, condition: Condition) -> None:
        """Nothing is shared."""

    @contextlib.contextmanager
    def fresh(
        self, name: str, _condition: Condition, surroundings: Surroundings, *, bodies: bool
    ) -> Iterator[WebKitHome]:
        with lived_in(self._folder / f"home-{name}") as folder:
            yield WebKitHome(
                folder, surroundings, hops(folder, surroundings, _addresses(surroundings)), bodies
            )


def _addresses(surroundings: Surroundings) -> Mapping[str, str]:
    """Where hosts are that DNS has no say in. By a proxy WebKit speaks no HTTP/2: there a page that only names such
    addresses goes without, and one that is recorded from them is `wrong-protocol`.
    """
    if surroundings.protocol is Protocol.H2 and not surroundings.local:
        return {}
    return {**surroundings.mentioned, **surroundings.local}
