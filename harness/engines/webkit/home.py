"""The WebKit of one trial: a folder to live in, a display of its own, its process and its Inspector."""

from __future__ import annotations

import contextlib
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.engines import fonts, hop
from harness.engines.browser import DISPLAY
from harness.engines.browserlog import BrowserLog
from harness.engines.relay import Relay, as_travelled, program
from harness.engines.surroundings import Surroundings
from harness.engines.webkit import inspector, log
from harness.engines.webkit.driver import VIEWPORT, WebKitBrowser
from harness.errors import EnvironmentLacks, TestbedFailed
from harness.model.condition import Condition
from harness.outcome import TrialFailed
from harness.system import syscalls
from harness.system.process import conversing, running
from harness.system.processtree import kill_family
from harness.system.program import Command, find_program, run, version_line

PYTHON = "/usr/bin/python3"  # Debian's, whose packages bring WebKit
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")  # whom GnuTLS trusts on Debian
START_TIMEOUT_S = 60.0
DISPLAY_SOCKET, DISPLAY_PID = "display", "display.pid"
WEB_PROCESS = b"WebKitWebProcess"
SANDBOX = b"bwrap"
MODULE = "webkit.program"


@dataclass(frozen=True)
class WebKitHome:
    """The folder one WebKit lives in, thrown away with the trial, and what is around it.

    `relay` takes its requests: those under https of a page loaded over plain http or, with `relays_all`, every one.
    """

    folder: Path
    surroundings: Surroundings
    relay: Relay | None = None
    relays_all: bool = False
    keeps_bodies: bool = False

    @property
    def log(self) -> Path:
        """What the Inspector told."""
        return self.folder / "inspector.jsonl"

    @property
    def pid(self) -> int | None:
        """The browser's main process, once it has started."""
        return _number(self.folder / "pid")

    @property
    def driver_pid(self) -> None:
        """Nothing steers it but ourselves."""
        return

    @property
    def programs(self) -> Mapping[str, int]:
        display = _number(self.folder / DISPLAY_PID)
        beside = {} if self.relay is None else self.relay.programs
        return beside if display is None else {**beside, DISPLAY: display}

    @property
    def crashes(self) -> tuple[str, ...]:
        return (self.crash.read_text(encoding="utf-8"),) if self.crash.exists() else ()

    @property
    def crash(self) -> Path:
        """How the page's process crashed, if it did."""
        return self.folder / "crash"

    def holds_pages(self, command_line: bytes) -> bool:
        return WEB_PROCESS in command_line and SANDBOX not in command_line

    def start_over(self) -> None:
        """`harness.study.rules` lets no load with a warm cache come here."""
        raise TestbedFailed("WebKit keeps nothing of a page")

    def read_log(self) -> BrowserLog:
        seen = log.read(self.log)
        return seen if self.relay is None else as_travelled(seen, self.relay.told)

    @contextlib.contextmanager
    def start(self) -> Iterator[WebKitBrowser]:
        """A fresh browser on a fresh display for the length of the block; TestbedFailed when one does not start."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._relaying())
            stack.enter_context(_display(self.folder))
            stack.enter_context(_trusted(self.surroundings.authority))
            program = stack.enter_context(
                conversing(self.command, self.folder / "webkit.log", cwd=self.folder)
            )
            (self.folder / "pid").write_text(str(program.pid))
            stack.callback(kill_family, program.pid)
            try:
                program.hear(START_TIMEOUT_S)
            except (EOFError, TimeoutError) as error:
                raise TestbedFailed(f"WebKit did not start: {error}") from error
            inspecting = inspector.inspecting(self.surroundings.client, self.log)
            browser = WebKitBrowser(program, stack.enter_context(inspecting), self.log, self.crash)
            browser.shut_the_door()
            yield browser
            if self.keeps_bodies:
                browser.keep_bodies()
            browser.close()

    @contextlib.contextmanager
    def _relaying(self) -> Iterator[None]:
        """The hop, where there is one."""
        if self.relay is None:
            yield
            return
        with self.surroundings.client.entered():
            listening = socket.create_server((hop.LOOPBACK, hop.PORT))
        with self.relay.running(listening) as process:
            self.relay.wait_for(process)
            yield

    @property
    def command(self) -> Command:
        """What starts the browser."""
        proxy = f"socks5://{hop.LOOPBACK}:{hop.PORT}"
        settings = {
            "viewport": VIEWPORT,
            "readable": [str(fonts.CONFIGURATION.parent)],
            "proxies": {} if self.relay is None else {"all" if self.relays_all else "https": proxy},
        }
        command = program(PYTHON, MODULE, settings).on(self.surroundings.client.path).named("WebKit")
        return command.with_environment(**_environment(self.folder))


def _environment(home: Path) -> dict[str, str]:
    """What of a desktop there is: a display, and nothing else that a program of GNOME looks for."""
    return {
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local"),
        "WAYLAND_DISPLAY": DISPLAY_SOCKET,
        "GDK_BACKEND": "wayland",
        "GSETTINGS_BACKEND": "memory",
        "GIO_USE_VFS": "local",
        "GIO_USE_NETWORK_MONITOR": "base",
        "GTK_A11Y": "none",
        "NO_AT_BRIDGE": "1",
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "WEBKIT_INSPECTOR_HTTP_SERVER": f"{inspector.LOOPBACK}:{inspector.PORT}",
        **fonts.ENVIRONMENT,
        "LC_ALL": "C.UTF-8",
    }


@contextlib.contextmanager
def _display(folder: Path) -> Iterator[None]:
    """A Wayland compositor that shows nothing to anybody; a window fills its screen. Its socket is in the folder.

    TestbedFailed when it died: that is no fault of the page.
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
        except TrialFailed:
            process.check_running()
            raise
        process.check()


@contextlib.contextmanager
def _trusted(authority: Path) -> Iterator[None]:
    """The testbed's authority in the place of all others, in the enclosure's own mounts."""
    try:
        syscalls.mount(str(authority), str(CERTIFICATES), "", syscalls.MS_BIND)
    except OSError as error:
        raise TestbedFailed(f"cannot cover {CERTIFICATES}: {error}") from error
    try:
        yield
    finally:
        syscalls.unmount(str(CERTIFICATES))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def version() -> str:
    """WebKitGTK and GTK in one line; EnvironmentLacks when Debian's Python has none."""
    command = program(PYTHON, MODULE, {})
    try:
        return run(
            replace(command, argv=(*command.argv[:3], "--version"), unprivileged=False), timeout_s=60
        ).strip()
    except TestbedFailed as error:
        why = str(error).rpartition(" | ")[2]  # the last line it printed
        raise EnvironmentLacks(
            f"WebKit does not work here ({why}); `coldload doctor` tells how to get it"
        ) from error


class WebKitMaker:
    """Makes WebKits, which have nothing in common that would be kept."""

    def __init__(self, folder: Path, _stack: contextlib.ExitStack, _network: Path) -> None:
        self._folder = folder

    @staticmethod
    def programs() -> Mapping[str, Callable[[], str]]:
        return {"webkit": version, "weston": lambda: version_line("weston", "--version")}

    @staticmethod
    def refuse_unless_usable() -> None:
        find_program("weston")
        version()

    def prepare(self, condition: Condition) -> None:
        """Nothing is shared."""

    @contextlib.contextmanager
    def fresh(
        self, name: str, _condition: Condition, surroundings: Surroundings, *, bodies: bool
    ) -> Iterator[WebKitHome]:
        folder = self._folder / f"home-{name}"
        folder.mkdir(mode=0o700)
        try:
            yield WebKitHome(folder, surroundings, *_relay(folder, surroundings), keeps_bodies=bodies)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _relay(folder: Path, surroundings: Surroundings) -> tuple[Relay | None, bool]:
    """The hop, where one is needed, and whether all requests go there: hosts that DNS has no say in are found by it."""
    inner, addresses = surroundings.inner_tls, {**surroundings.mentioned, **surroundings.local}
    if inner is None and not addresses:
        return None, False
    security = None if inner is None else replace(inner.security, https_port=hop.HTTP)
    log = folder / "connections.jsonl"
    return Relay(log, surroundings.client.path, security, addresses, surroundings.address), bool(addresses)
