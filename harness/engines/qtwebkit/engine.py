"""The process of QtWebKit: loads one page, tells its timeline. Commands and answers are lines of JSON.

Runs in Debian's Python with PyQt, not in ours, as `python3 -m harness.engines.qtwebkit.engine SETTINGS`; imports
nothing of the project but its own network. It says {"ready": ...} and then answers each line with one:

    {"load": URL}          after the load event, or when it is known that there will be none:
                           {"ok", "navigate_ms", "started_ms", "told_ms", "times", "document",
                           "went_on": the other document the page went on to, "blank"}
    {"linger_s": SECONDS}  {} after so long
    {"console": true}      {"errors": the first ones, "count": of all}
    {"at_first": SCRIPT}   {}: from the next load on, the first script of each document of the main frame
    {"run": SCRIPT}        {}
    {"scroll": SCREENFUL}  {"more"}: whether there is more below; once the pictures in it are there
    {"screenshot": PATH}   {}

Times are ms by the clock of the log of requests, but "times": those are the document's own, see native.py.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PyQt5.QtCore import QPoint, QSize, QSocketNotifier, Qt, QTimer, QUrl, qVersion
from PyQt5.QtGui import QImage, QPainter
from PyQt5.QtNetwork import QSslSocket
from PyQt5.QtWebKit import QWebSettings, qWebKitVersion
from PyQt5.QtWebKitWidgets import QWebFrame, QWebPage
from PyQt5.QtWidgets import QApplication

from harness.engines.qtwebkit.native import Console, Times
from harness.engines.qtwebkit.replies import Log, Manager, RequestSettings, now_ms

LOAD_EVENT_POLL_MS = 5
LOAD_EVENT_TRIES = 200
# As scroll.js does it for Chromium: pictures get 2 s.
SHOWN_POLL_MS, SHOWN_TRIES, SETTLE_MS = 50, 40, 150
SHOWN_SCRIPT = """[].every.call(document.images, function (image) {
  var box = image.getBoundingClientRect();
  return image.complete || box.bottom <= 0 || box.top >= innerHeight || !box.width;
})"""
# PyQt has no name for it (qwebsettings.h). All requests are made under one scheme, whatever links say.
ALLOW_RUNNING_INSECURE_CONTENT = 38

QtAnswer = Callable[[dict[str, Any]], None]


class QuietPage(QWebPage):
    """A page nobody sits before: dialogs cancel themselves. `going_on` is asked before its main frame may leave."""

    def __init__(self, going_on: Callable[[QUrl], bool]) -> None:
        super().__init__()
        self._going_on = going_on
        self._leaving = False
        self.frameCreated.connect(lambda frame: frame.provisionalLoad.connect(self._on_left))

    def acceptNavigationRequest(self, frame: Any, request: Any, kind: Any) -> bool:  # noqa: N802 - Qt's names
        here, there = frame.url() if frame else QUrl(), request.url()
        within = there.hasFragment() and there.matches(here, QUrl.RemoveFragment)
        if frame != self.mainFrame() or (within and kind != QWebPage.NavigationTypeReload):
            self._leaving = frame is not None and not within
            return True
        return self._going_on(there)

    def _on_left(self) -> None:
        self._leaving = False

    def javaScriptAlert(self, *_: Any) -> None:  # noqa: N802
        return

    def javaScriptConfirm(self, *_: Any) -> bool:  # noqa: N802
        """Before another document of a frame is loaded, Qt asks so whether the one that is there may be left."""
        return self._leaving

    def javaScriptPrompt(self, *_: Any) -> tuple[bool, str]:  # noqa: N802
        return False, ""

    def chooseFile(self, *_: Any) -> str:  # noqa: N802
        return ""

    def shouldInterruptJavaScript(self) -> bool:  # noqa: N802
        return False


class EngineProgram:
    """One page with a network of its own, and the commands for it.

    The first document that comes after `load` is the one that was asked for, redirects and all. The page stays there:
    what a script or a refresh would go on to is another document, and not what was to be measured.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._log = Log(Path(settings["log"]), bodies=settings["bodies"])
        _keep_within(settings["home"])
        self._network = Manager(RequestSettings(**settings["requests"]), self._log)
        self._page = QuietPage(self._may_go_on)
        self._console = Console(self._page)
        self._page.setNetworkAccessManager(self._network)
        self._page.setViewportSize(QSize(*settings["viewport"]))
        frame = self._page.mainFrame()
        # Without a window there is no signal when that of the document is cleared.
        frame.evaluateJavaScript("0")
        frame.javaScriptWindowObjectCleared.connect(self._on_document)
        self._page.loadStarted.connect(self._on_load_started)
        self._page.loadFinished.connect(self._on_load_finished)
        self._times: Times | None = None
        self._at_first: list[str] = []
        self._answer: QtAnswer | None = None
        self._begun = 0.0
        self._found: dict[str, Any] = {"started_ms": None, "went_on": None}

    def perform(self, command: dict[str, Any], answer: QtAnswer) -> None:
        """Carry out a command and answer once, perhaps later."""
        if "load" in command:
            self._answer, self._begun = answer, time.perf_counter()
            self._page.mainFrame().load(QUrl(command["load"]))
        elif "linger_s" in command:
            QTimer.singleShot(round(command["linger_s"] * 1000), lambda: answer({}))
        elif "at_first" in command:
            self._at_first.append(command["at_first"])
            answer({})
        elif "run" in command:
            self._page.mainFrame().evaluateJavaScript(command["run"])
            answer({})
        elif "scroll" in command:
            self._scroll(command["scroll"])
            _when_shown(self._page.mainFrame(), lambda: answer({"more": self._scroll(command["scroll"])}))
        elif "screenshot" in command:
            self._drawn().save(command["screenshot"], "PNG")
            answer({})
        else:
            answer({"errors": self._console.errors, "count": self._console.count})

    def _on_load_started(self) -> None:
        """Navigation starts: the engine's own zero point is up to 1 ms before this. Frames start loads, too."""
        if self._found["started_ms"] is None:
            self._found["started_ms"] = now_ms()

    def _on_document(self) -> None:
        """A document is there, none of whose scripts has run."""
        if self._times is None:
            self._network.awaits_document = False
            self._times = Times(self._page.mainFrame())
            # By way of the queue, which comes before the page's timers: nothing is done within a script.
            self._times.ended.connect(self._tell_when_whole, Qt.QueuedConnection)
            for script in self._at_first:
                self._page.mainFrame().evaluateJavaScript(script)
        else:
            self._may_go_on(self._page.mainFrame().url())

    def _may_go_on(self, url: QUrl) -> bool:
        """Whether the main frame may load that: only redirects of the document itself."""
        if self._times is None:
            return True
        if self._answer and not self._times.latest:
            self._found |= {"went_on": url.toString()}
            self._tell()
        return False

    def _on_load_finished(self, good: bool) -> None:
        """The load call has returned, so to speak. Frames that a page loads later end here, too."""
        if self._answer is None or "ok" in self._found:
            return
        self._found["ok"] = good
        self._tell_when_whole(LOAD_EVENT_TRIES)

    def _tell_when_whole(self, tries: int = 0) -> None:
        """The end of the load event is told some ms before or after the end of the load.

        Without a load event, which is how the load of a page ends that goes elsewhere, give up after some tries.
        """
        if "ok" not in self._found:
            return
        if (self._times and self._times.latest.get("loadEventEnd")) or not self._found["ok"]:
            self._tell()
        elif tries:
            QTimer.singleShot(
                LOAD_EVENT_POLL_MS, lambda: self._tell_when_whole(tries - 1) if tries > 1 else self._tell()
            )

    def _tell(self) -> None:
        """Answer the load, once."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        times = self._times.latest if self._times else {}
        told = {"told_ms": now_ms(), "times": times, "document": self._log.document}
        navigate_ms = (time.perf_counter() - self._begun) * 1000
        answer({"ok": False, **self._found, **told, "navigate_ms": navigate_ms, "blank": self._blank()})

    def _blank(self) -> bool:
        """Whether the viewport shows one colour and nothing else."""
        image = self._drawn(QWebFrame.ContentsLayer)
        pixels = image.constBits().asstring(image.sizeInBytes())
        return bool(pixels == pixels[:4] * (len(pixels) // 4))

    def _scroll(self, screenful: int) -> bool:
        frame, height = self._page.mainFrame(), self._page.viewportSize().height()
        frame.setScrollPosition(QPoint(0, screenful * height))
        return bool(frame.scrollPosition().y() + height < frame.contentsSize().height() - 1)

    def _drawn(self, layer: Any = QWebFrame.AllLayers) -> QImage:
        image = QImage(self._page.viewportSize(), QImage.Format_RGB32)
        image.fill(0xFFFFFFFF)
        painter = QPainter(image)
        self._page.mainFrame().render(painter, layer)
        painter.end()
        return image


def _keep_within(home: str) -> None:
    """What a page stores goes to its own home. There is no disk cache, and the memory's is as new as the process."""
    settings = QWebSettings.globalSettings()
    settings.setAttribute(QWebSettings.LocalStorageEnabled, True)
    settings.setLocalStoragePath(home)
    settings.setOfflineStoragePath(home)  # of WebSQL
    settings.setOfflineWebApplicationCachePath(home)
    settings.setAttribute(QWebSettings.DnsPrefetchEnabled, False)
    settings.setAttribute(QWebSettings.WebAttribute(ALLOW_RUNNING_INSECURE_CONTENT), True)


def _when_shown(frame: Any, then: Callable[[], None], tries: int = SHOWN_TRIES) -> None:
    """Go on once the pictures in view are there and had a moment to be drawn, or after so many tries."""
    if frame.evaluateJavaScript(SHOWN_SCRIPT) or not tries:
        QTimer.singleShot(SETTLE_MS, then)
    else:
        QTimer.singleShot(SHOWN_POLL_MS, lambda: _when_shown(frame, then, tries - 1))


class Commands:
    """Lines from standard input, one after the other; the process ends with the input."""

    def __init__(self, perform: Callable[[dict[str, Any], QtAnswer], None]) -> None:
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
        parts = versions()
        print(f"QtWebKit {parts['qtwebkit']}, Qt {parts['qt']}, {parts['tls']}")
        return
    engine = EngineProgram(json.loads(sys.argv[1]))
    commands = Commands(engine.perform)
    say({"ready": versions()})
    application.exec_()
    sys.stdout.flush()
    del commands
    os._exit(0)  # Qt's own way out takes as long as the way in, and everything dies with the process


if __name__ == "__main__":
    main()
