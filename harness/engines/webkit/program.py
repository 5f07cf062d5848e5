"""The process of WebKit: shows one page in a window of its own. Lines and answers are lines of JSON.

Runs in Debian's Python with PyGObject, not in ours, as `python3 -m harness.engines.webkit.program SETTINGS`; imports
nothing of the project. It says {"ready": versions} once it shows an empty page, and then answers each line with one:

    {"load": URL}          after the load event, or when it is known that there will be none:
                           {"ok", "navigate_ms"}, and without a load event "error" or "went_on": where the page went
    {"shut": true}         {}: the Inspector takes no more connections
    {"at_first": SCRIPT}   {}: from the next load on, the first script of each document
    {"run": SCRIPT}        {"value"}: what it returns, run as the body of a function among the page's own scripts
    {"read": SCRIPT}       {"value"}: the same in a world of scripts that the page cannot reach

Once the page's own process has ended, that is the answer to all that is asked: {"died": why, "signal": its number}.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before there are other threads: only a signal that none of them takes can be waited for.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})

import gi  # noqa: E402

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")

from gi.repository import GLib, Gtk, WebKit2  # noqa: E402  # only now their versions are chosen

WORLD = "coldload"
LANGUAGES = ["en-US", "en"]
# All requests of a page are made under one scheme, whatever links say and scripts put together.
SWITCHED = {
    "AllowDisplayOfInsecureContent": True,
    "AllowRunningOfInsecureContent": True,
    "UpgradeMixedContent": False,
}
# As Chromium has them, which fontconfig maps to Liberation's; the desktop's own would be others on each machine.
FONTS = {
    "default": "Times New Roman",
    "serif": "Times New Roman",
    "sans-serif": "Arial",
    "cursive": "Times New Roman",
    "fantasy": "Times New Roman",
    "monospace": "Monospace",
}
LISTENING = "0A"  # of /proc/net/tcp
INPUT = 0
SIGNALLED = 128  # what a sandbox adds to the number of the signal that ended its process
ENDING_LOOK_MS, ENDING_LOOKS = 5, 100
DEATH_NEWS_MS = 200
NO_FLAG = "no-flags"  # among those of every value
WENT_ON = "the page went on to another document"

WebKitAnswer = Callable[[dict[str, Any]], None]


class PageWindow:
    """One window with one page, and the commands for it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._content = WebKit2.UserContentManager()
        self.view = WebKit2.WebView(
            web_context=_context(settings), user_content_manager=self._content, settings=_page_settings()
        )
        self._loading: WebKitAnswer | None = None
        self._reading: WebKitAnswer | None = None
        self._begun = 0.0
        self._died: dict[str, Any] | None = None
        self._endings = Endings()
        self._committed = self._failing = False
        self._watch()
        window = Gtk.Window()
        window.set_default_size(*settings["viewport"])
        window.set_decorated(False)
        window.add(self.view)
        window.show_all()

    def perform(self, command: dict[str, Any], answer: WebKitAnswer) -> None:
        """Carry out a command and answer once, perhaps later."""
        if self._died is not None:
            answer(self._died)
        elif "load" in command:
            self._loading, self._begun = answer, time.monotonic()
            self._committed = self._failing = False
            self.view.load_uri(command["load"])
        elif "shut" in command:
            shut()
            answer({})
        elif "at_first" in command:
            frames, moment = WebKit2.UserContentInjectedFrames, WebKit2.UserScriptInjectionTime
            script = WebKit2.UserScript(command["at_first"], frames.ALL_FRAMES, moment.START, None, None)
            self._content.add_script(script)
            answer({})
        else:
            self._reading = answer
            world = WORLD if "read" in command else None
            script = command.get("read") or command["run"]
            self.view.call_async_javascript_function(script, -1, None, world, None, None, self._returned)

    def _returned(self, view: Any, result: Any) -> None:
        """That a script has failed is told before it is known that its process has gone."""
        try:
            self._read({"value": view.call_async_javascript_function_finish(result).to_string()})
        except GLib.Error as error:
            why = {"error": error.message}
            GLib.timeout_add(DEATH_NEWS_MS, lambda: self._read(why) if self._died is None else None)

    def _read(self, found: dict[str, Any]) -> None:
        """Answer for a script, once. One whose document has gone never returns."""
        answer, self._reading = self._reading, None
        if answer is not None:
            answer(found)

    def _watch(self) -> None:
        """Hear of the load; what asks a person answers itself: nobody sits before the page."""
        view = self.view
        view.connect("load-changed", self._load_changed)
        view.connect("load-failed", lambda _view, _event, _url, error: self._failed(error.message))
        view.connect(
            "load-failed-with-tls-errors",
            lambda _view, _url, _certificate, errors: self._failed(
                f"its certificate is not trusted ({_names(errors)})"
            ),
        )
        view.connect("web-process-terminated", self._terminated)
        view.connect("script-dialog", _answered)
        view.connect("permission-request", lambda _view, request: request.deny() or True)
        view.connect("authenticate", lambda _view, request: request.authenticate(None) or True)
        view.connect("run-file-chooser", lambda _view, request: request.cancel() or True)
        view.connect("print", lambda *_: True)
        view.connect("show-notification", lambda *_: True)

    def _load_changed(self, view: Any, event: Any) -> None:
        if event == WebKit2.LoadEvent.STARTED and self._committed:
            self._over({"ok": False, "went_on": view.get_uri()})
        elif event == WebKit2.LoadEvent.COMMITTED:
            self._committed = True
            self._read({"error": WENT_ON})
        elif event == WebKit2.LoadEvent.FINISHED and not self._failing:
            self._over({"ok": True})

    def _failed(self, why: str) -> bool:
        """It may have failed because a process of the browser has gone, which is known a little later."""
        self._failing = True
        GLib.timeout_add(DEATH_NEWS_MS, lambda: self._fail(why))
        return True  # no page of WebKit's own takes its place

    def _fail(self, why: str) -> None:
        if self._died is None and self._endings.signal is not None:
            self._died = {"died": why, "signal": self._endings.signal}
        self._over(self._died or {"ok": False, "error": why})

    def _over(self, found: dict[str, Any]) -> None:
        """Answer the load, once."""
        answer, self._loading = self._loading, None
        if answer is not None:
            answer({**found, "navigate_ms": (time.monotonic() - self._begun) * 1000})

    def _terminated(self, _view: Any, why: Any) -> None:
        """The page's process has gone; by which signal is known a little later."""
        self._died = {"died": why.value_nick, "signal": None}
        looks = iter(range(ENDING_LOOKS))

        def told() -> bool:
            if self._endings.signal is None and next(looks, None) is not None:
                return True
            self._died = {"died": why.value_nick, "signal": self._endings.signal}
            self._over(self._died)
            self._read(self._died)
            return False

        GLib.timeout_add(ENDING_LOOK_MS, told)


class Endings:
    """Hears which signal ended a process of the browser; WebKit itself does not tell. None as long as none did."""

    def __init__(self) -> None:
        self.signal: int | None = None
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        while True:
            ended = signal.sigwaitinfo({signal.SIGCHLD})
            if ended.si_code != os.CLD_EXITED:
                self.signal = ended.si_status
            elif ended.si_status > SIGNALLED:
                self.signal = ended.si_status - SIGNALLED


def _context(settings: dict[str, Any]) -> Any:
    """Nothing is kept and nothing is there: cookies, caches and databases are in memory and end with the process."""
    manager = WebKit2.WebsiteDataManager.new_ephemeral()
    manager.set_tls_errors_policy(WebKit2.TLSErrorsPolicy.FAIL)
    if settings["proxies"]:
        proxies = WebKit2.NetworkProxySettings.new(None, None)
        for scheme, proxy in settings["proxies"].items():
            proxies.add_proxy_for_scheme(scheme, proxy)
        manager.set_network_proxy_settings(WebKit2.NetworkProxyMode.CUSTOM, proxies)
    else:
        manager.set_network_proxy_settings(WebKit2.NetworkProxyMode.NO_PROXY, None)
    context = WebKit2.WebContext.new_with_website_data_manager(manager)
    context.set_sandbox_enabled(True)
    for path in settings["readable"]:
        context.add_path_to_sandbox(path, True)
    context.set_preferred_languages(LANGUAGES)
    if settings["secure_contexts"]:
        context.get_security_manager().register_uri_scheme_as_secure("http")
    context.set_spell_checking_enabled(False)
    context.connect("download-started", lambda _context, download: download.cancel())
    return context


def _page_settings() -> Any:
    made = WebKit2.Settings()
    made.set_property("enable-developer-extras", True)  # the Inspector
    made.set_property("enable-dns-prefetching", False)
    made.set_property("hardware-acceleration-policy", WebKit2.HardwareAccelerationPolicy.NEVER)
    made.set_property("enable-page-cache", False)
    for kind, family in FONTS.items():
        made.set_property(f"{kind}-font-family", family)
    features = WebKit2.Settings.get_all_features()
    for feature in map(features.get, range(features.get_length())):
        if feature.get_identifier() in SWITCHED:
            made.set_feature_enabled(feature, SWITCHED[feature.get_identifier()])
    return made


def _answered(_view: Any, dialog: Any) -> bool:
    """A dialog of the page's scripts, cancelled; but the page may be left."""
    if dialog.get_dialog_type() == WebKit2.ScriptDialogType.BEFORE_UNLOAD_CONFIRM:
        dialog.confirm_set_confirmed(True)
    return True


def _names(errors: Any) -> str:
    return ", ".join(name for name in errors.value_nicks if name != NO_FLAG) or str(int(errors))


def shut() -> None:
    """Put what never has news in the place of each socket at which this process takes connections: the Inspector's.

    What has connected stays connected. A page could come by those doors, too.
    """
    silent = os.eventfd(0)
    for descriptor, state in own_sockets():
        if state == LISTENING:
            os.dup2(silent, descriptor, inheritable=False)
    os.close(silent)


def hasten() -> None:
    """Let the Inspector's sockets send at once: what comes in two parts would wait 40 ms for the first to be confirmed.

    Those that it accepts later have this from the one that listens.
    """
    for descriptor, _ in own_sockets():
        # One that has been closed meanwhile needs nothing.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as made:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def own_sockets() -> list[tuple[int, str]]:
    """The TCP sockets of this process, each with its state as /proc/net/tcp has it."""
    lines = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    states = {f"socket:[{words[9]}]": words[3] for words in map(str.split, lines)}
    sockets = []
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the folder itself
            sockets.append((int(path.name), states.get(str(path.readlink()))))
    return [(descriptor, state) for descriptor, state in sockets if state is not None]


class Lines:
    """Lines from standard input, one after the other; the process ends with the input."""

    def __init__(self, perform: Callable[[dict[str, Any], WebKitAnswer], None]) -> None:
        self._perform = perform
        self._rest = b""
        GLib.io_add_watch(INPUT, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, self._read)

    def _read(self, _source: int, _condition: Any) -> bool:
        data = os.read(INPUT, 65536)
        if not data:
            Gtk.main_quit()
            return False
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._perform(json.loads(line), say)
        return True


def say(found: dict[str, Any]) -> None:
    """One line of answer."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def versions() -> dict[str, str]:
    """What this process is made of."""
    numbers = WebKit2.get_major_version(), WebKit2.get_minor_version(), WebKit2.get_micro_version()
    gtk = Gtk.get_major_version(), Gtk.get_minor_version(), Gtk.get_micro_version()
    return {"webkitgtk": ".".join(map(str, numbers)), "gtk": ".".join(map(str, gtk))}


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        parts = versions()
        print(f"WebKitGTK {parts['webkitgtk']}, GTK {parts['gtk']}")
        return
    if not Gtk.init_check(None)[0]:
        sys.exit("there is no display")
    page = PageWindow(json.loads(sys.argv[1]))
    lines: list[Lines] = []

    def ready(view: Any, event: Any) -> None:
        if event == WebKit2.LoadEvent.FINISHED:
            view.disconnect(waiting)
            lines.append(Lines(page.perform))
            hasten()
            say({"ready": versions()})

    waiting = page.view.connect("load-changed", ready)
    page.view.load_uri("about:blank")
    Gtk.main()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
