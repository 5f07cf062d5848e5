"""The process of WebKit: shows one page in a window of its own. Commands and answers are lines of JSON.

Runs in Debian's Python with PyGObject, not in ours, as `python3 -m harness.engines.webkit.program SETTINGS`; imports
nothing of the project. It says {"ready": versions} once it shows an empty page, and then answers each line with one:

    {"load": URL}          after the load event, or when it is known that there will be none:
                           {"ok", "navigate_ms"}, and without a load event "error" or "went_on": where the page went
    {"shut": true}         {}: the Inspector takes no more connections
    {"at_first": SCRIPT}   {}: from the next load on, the first script of each document
    {"run": SCRIPT}        {"value"}: what it returns, run as the body of a function among the page's own scripts
    {"read": SCRIPT}       {"value"}: the same in a world of scripts that the page cannot reach

After its end by a crash, the page's own process is told of in place of an answer, and in answer to all that comes:
{"died": why}.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")

from gi.repository import GLib, Gtk, WebKit2  # noqa: E402  # only now their versions are chosen

WORLD = "coldload"
LISTENING = "0A"  # of /proc/net/tcp
INPUT = 0

Answer = Callable[[dict[str, Any]], None]


class Shown:
    """One window with one page, and the commands for it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._inspector_port = settings["inspector_port"]
        self._content = WebKit2.UserContentManager()
        self.view = WebKit2.WebView(
            web_context=_context(settings), user_content_manager=self._content, settings=_page_settings()
        )
        self._loading: Answer | None = None
        self._begun = 0.0
        self._died: str | None = None
        self._committed = False
        self._watch()
        window = Gtk.Window()
        window.set_default_size(*settings["viewport"])
        window.set_decorated(False)
        window.add(self.view)
        window.show_all()

    def perform(self, command: dict[str, Any], answer: Answer) -> None:
        """Carry out a command and answer once, perhaps later."""
        if self._died is not None:
            answer({"died": self._died})
        elif "load" in command:
            self._loading, self._begun, self._committed = answer, time.monotonic(), False
            self.view.load_uri(command["load"])
        elif "shut" in command:
            shut(self._inspector_port)
            answer({})
        elif "at_first" in command:
            frames, moment = WebKit2.UserContentInjectedFrames, WebKit2.UserScriptInjectionTime
            script = WebKit2.UserScript(command["at_first"], frames.ALL_FRAMES, moment.START, None, None)
            self._content.add_script(script)
            answer({})
        else:
            world = WORLD if "read" in command else None
            script = command.get("read") or command["run"]
            self.view.call_async_javascript_function(
                script, -1, None, world, None, None, lambda view, result: answer(self._returned(view, result))
            )

    def _returned(self, view: Any, result: Any) -> dict[str, Any]:
        try:
            return {"value": view.call_async_javascript_function_finish(result).to_string()}
        except GLib.Error as error:
            return {"died": self._died} if self._died else {"error": error.message}

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
        view.connect("authenticate", lambda _view, request: request.cancel() or True)
        view.connect("run-file-chooser", lambda _view, request: request.cancel() or True)
        view.connect("print", lambda *_: True)
        view.connect("show-notification", lambda *_: True)

    def _load_changed(self, view: Any, event: Any) -> None:
        if event == WebKit2.LoadEvent.STARTED and self._committed:
            self._over({"ok": False, "went_on": view.get_uri()})
        elif event == WebKit2.LoadEvent.COMMITTED:
            self._committed = True
        elif event == WebKit2.LoadEvent.FINISHED:
            self._over({"ok": True})

    def _failed(self, why: str) -> bool:
        self._over({"ok": False, "error": why})
        return True  # no page of WebKit's own takes its place

    def _over(self, found: dict[str, Any]) -> None:
        """Answer the load, once."""
        answer, self._loading = self._loading, None
        if answer is not None:
            answer({**found, "navigate_ms": (time.monotonic() - self._begun) * 1000})

    def _terminated(self, _view: Any, why: Any) -> None:
        self._died = why.value_nick
        self._over({"died": self._died})


def _context(settings: dict[str, Any]) -> Any:
    """Nothing is kept and nothing is there: cookies, caches and databases are in memory and end with the process."""
    manager = WebKit2.WebsiteDataManager.new_ephemeral()
    manager.set_tls_errors_policy(WebKit2.TLSErrorsPolicy.FAIL)
    if settings["proxies"]:
        proxies = WebKit2.NetworkProxySettings.new(settings["proxies"].get("all"), None)
        for scheme, proxy in settings["proxies"].items():
            if scheme != "all":
                proxies.add_proxy_for_scheme(scheme, proxy)
        manager.set_network_proxy_settings(WebKit2.NetworkProxyMode.CUSTOM, proxies)
    else:
        manager.set_network_proxy_settings(WebKit2.NetworkProxyMode.NO_PROXY, None)
    context = WebKit2.WebContext.new_with_website_data_manager(manager)
    context.set_sandbox_enabled(True)
    for place in settings["readable"]:
        context.add_path_to_sandbox(place, True)
    context.set_spell_checking_enabled(False)
    context.connect("download-started", lambda _context, download: download.cancel())
    return context


def _page_settings() -> Any:
    made = WebKit2.Settings()
    made.set_property("enable-developer-extras", True)  # the Inspector
    made.set_property("enable-dns-prefetching", False)
    made.set_property("hardware-acceleration-policy", WebKit2.HardwareAccelerationPolicy.NEVER)
    made.set_property("enable-page-cache", False)
    made.set_property("enable-hyperlink-auditing", False)
    return made


def _answered(_view: Any, dialog: Any) -> bool:
    """A dialog of the page's scripts, answered as by a person who agrees and types nothing."""
    kinds = WebKit2.ScriptDialogType
    if dialog.get_dialog_type() in (kinds.CONFIRM, kinds.BEFORE_UNLOAD_CONFIRM):
        dialog.confirm_set_confirmed(True)
    return True


def _names(errors: Any) -> str:
    return ", ".join(errors.value_nicks) or str(int(errors))


def shut(port: int) -> None:
    """Put a socket that nobody can reach in the place of the one that this process listens on at a port of loopback.

    What has connected stays connected. A page could come by that door, too.
    """
    import socket  # noqa: PLC0415  # once

    inodes = set()
    for line in open("/proc/self/net/tcp", encoding="ascii").readlines()[1:]:  # noqa: SIM115
        words = line.split()
        if words[3] == LISTENING and int(words[1].rpartition(":")[2], 16) == port:
            inodes.add(f"socket:[{words[9]}]")
    closed = socket.socket(socket.AF_UNIX)
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            there = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:  # that of the folder itself
            continue
        if there in inodes:
            os.dup2(closed.fileno(), int(descriptor), inheritable=False)
    closed.close()


class Commands:
    """Lines from standard input, one after the other; the process ends with the input."""

    def __init__(self, perform: Callable[[dict[str, Any], Answer], None]) -> None:
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
        found = versions()
        print(f"WebKitGTK {found['webkitgtk']}, GTK {found['gtk']}")
        return
    if not Gtk.init_check(None)[0]:
        sys.exit("there is no display")
    shown = Shown(json.loads(sys.argv[1]))
    commands = []

    def ready(view: Any, event: Any) -> None:
        if event == WebKit2.LoadEvent.FINISHED:
            view.disconnect(waiting)
            commands.append(Commands(shown.perform))
            say({"ready": versions()})

    waiting = shown.view.connect("load-changed", ready)
    shown.view.load_uri("about:blank")
    Gtk.main()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
