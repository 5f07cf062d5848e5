"""The process of QtWebKit: loads one page, tells its timeline. Commands and answers are lines of JSON.

Runs in Debian's Python with PyQt, not in ours, as `python3 -m harness.browser.qtwebkit.engine SETTINGS`; imports
nothing of the project but its own network. It says {"ready": ...} and then answers each line with one:

    {"load": URL}          {"ok", "navigate_ms", "timing", "document"} after the load event
    {"linger_s": SECONDS}  {} after so long
    {"console": true}      {"messages"}
    {"scroll": SCREENFUL}  {"more"}: whether there is more below
    {"screenshot": PATH}   {}
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PyQt5.QtCore import QPoint, QSize, QSocketNotifier, QTimer, QUrl, qVersion
from PyQt5.QtGui import QImage, QPainter
from PyQt5.QtNetwork import QSslSocket
from PyQt5.QtWebKit import QWebSettings, qWebKitVersion
from PyQt5.QtWebKitWidgets import QWebPage
from PyQt5.QtWidgets import QApplication

from harness.browser.qtwebkit.replies import Log, Manager, Ways

# loadFinished comes within 2 ms of the end of the load event, before or after it.
TIMELINE_POLL_MS = 5
TIMELINE_TRIES = 200
TIMING_SCRIPT = """(function () {
  var found = {}, timing = performance.timing;
  for (var key in timing) if (typeof timing[key] === "number") found[key] = timing[key];
  return JSON.stringify(found);
})()"""

Answer = Callable[[dict[str, Any]], None]


class Page(QWebPage):
    """A page nobody sits before: dialogs answer themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def javaScriptConsoleMessage(self, message: str, line: int, source: str) -> None:  # noqa: N802 - Qt's names
        self.messages.append(f"{message} ({source}:{line})")

    def javaScriptAlert(self, *_: Any) -> None:  # noqa: N802
        return

    def javaScriptConfirm(self, *_: Any) -> bool:  # noqa: N802
        return True

    def javaScriptPrompt(self, *_: Any) -> tuple[bool, str]:  # noqa: N802
        return False, ""

    def shouldInterruptJavaScript(self) -> bool:  # noqa: N802
        return False


class Engine:
    """One page with a network of its own, and the commands for it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._log = Log(Path(settings["log"]))
        _keep_within(settings["home"])
        self._network = Manager(Ways(**settings["ways"]), self._log)
        self._page = Page()
        self._page.setNetworkAccessManager(self._network)
        self._page.setViewportSize(QSize(*settings["viewport"]))
        self._page.loadFinished.connect(self._on_load_finished)
        self._answer: Answer | None = None
        self._begun = 0.0
        self._loaded: dict[str, Any] | None = None

    def perform(self, command: dict[str, Any], answer: Answer) -> None:
        """Carry out a command and answer once, perhaps later."""
        if "load" in command:
            self._answer, self._begun = answer, time.perf_counter()
            self._page.mainFrame().load(QUrl(command["load"]))
        elif "linger_s" in command:
            QTimer.singleShot(round(command["linger_s"] * 1000), lambda: answer({}))
        elif "scroll" in command:
            answer({"more": self._scroll(command["scroll"])})
        elif "screenshot" in command:
            self._draw(command["screenshot"])
            answer({})
        else:
            answer({"messages": self._page.messages})

    def _on_load_finished(self, good: bool) -> None:
        """The load call has returned, so to speak. Frames that a page loads later end here, too."""
        if self._answer is None or self._loaded is not None:
            return
        self._loaded = {"ok": good, "navigate_ms": (time.perf_counter() - self._begun) * 1000}
        self._tell_timeline(TIMELINE_TRIES)

    def _tell_timeline(self, tries: int) -> None:
        timing = json.loads(self._page.mainFrame().evaluateJavaScript(TIMING_SCRIPT) or "{}")
        if not timing.get("loadEventEnd") and self._loaded and self._loaded["ok"] and tries:
            QTimer.singleShot(TIMELINE_POLL_MS, lambda: self._tell_timeline(tries - 1))
        elif self._answer:
            self._answer({**(self._loaded or {}), "timing": timing, "document": self._log.document})
            self._answer = None

    def _scroll(self, screenful: int) -> bool:
        frame, height = self._page.mainFrame(), self._page.viewportSize().height()
        frame.setScrollPosition(QPoint(0, screenful * height))
        return bool(frame.scrollPosition().y() + height < frame.contentsSize().height() - 1)

    def _draw(self, path: str) -> None:
        image = QImage(self._page.viewportSize(), QImage.Format_RGB32)
        image.fill(0xFFFFFFFF)
        painter = QPainter(image)
        self._page.mainFrame().render(painter)
        painter.end()
        image.save(path, "PNG")


def _keep_within(home: str) -> None:
    """What a page stores goes to its own home. There is no disk cache, and the memory's is as new as the process."""
    settings = QWebSettings.globalSettings()
    settings.setAttribute(QWebSettings.LocalStorageEnabled, True)
    settings.setLocalStoragePath(home)
    settings.setAttribute(QWebSettings.DnsPrefetchEnabled, False)


class Commands:
    """Lines from standard input, one after the other; the process ends with the input."""

    def __init__(self, perform: Callable[[dict[str, Any], Answer], None]) -> None:
        self._perform = perform
        self._rest = b""
        self._notifier = QSocketNotifier(0, QSocketNotifier.Read)
        self._notifier.activated.connect(self._read)

    def _read(self) -> None:
        data = os.read(0, 65536)
        if not data:
            QApplication.instance().quit()
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._perform(json.loads(line), say)


def say(found: dict[str, Any]) -> None:
    """One line of answer."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def versions() -> dict[str, str]:
    """What this process is made of."""
    return {"qtwebkit": qWebKitVersion(), "qt": qVersion(), "tls": QSslSocket.sslLibraryVersionString()}


def main() -> None:
    application = QApplication(["coldload"])
    if sys.argv[1:] == ["--version"]:
        found = versions()
        print(f"QtWebKit {found['qtwebkit']}, Qt {found['qt']}, {found['tls']}")
        return
    engine = Engine(json.loads(sys.argv[1]))
    commands = Commands(engine.perform)
    say({"ready": versions()})
    application.exec_()
    sys.stdout.flush()
    del commands
    os._exit(0)  # Qt's own way out takes as long as the way in, and everything dies with the process


if __name__ == "__main__":
    main()
