"""What a document cannot forge: its own times as the engine counts them, and its console with its levels.

Runs in Debian's Python with PyQt, not in ours: it imports nothing of the project.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any

from PyQt5 import sip
from PyQt5.QtCore import Q_ENUM, QObject, pyqtSignal, pyqtSlot

TIMES = ("navigationStart", "domContentLoadedEventEnd", "loadEventEnd")
# Runs before any script of a document. It keeps the engine's own getters, bound to the document's own timing, and the
# way to call them needs nothing of the page's world afterwards: no name is left there, no property is looked up, and
# what is handed over is a string made of numbers.
CAPTURE = """(function () {
  "use strict";
  var bridge = window.NAME, timing = performance.timing;
  delete window.NAME;
  var bound = Function.prototype.call.bind(Function.prototype.bind, Function.prototype.call);
  function reader(name) {
    var holder = timing, found;
    while (!(found = Object.getOwnPropertyDescriptor(holder, name))) holder = Object.getPrototypeOf(holder);
    return bound(found.get, timing);
  }
  var first = reader("TIME0"), second = reader("TIME1"), third = reader("TIME2"), tell = bridge.told;
  bridge.asked.connect(function () { tell(first() + " " + second() + " " + third()); });
})()"""
NAME = "coldload"
MOST_ERRORS = 20
MOST_CHARACTERS = 300
CONNECT_SLOTS_BY_NAME = "_ZN11QMetaObject18connectSlotsByNameEP7QObject"


class Times(QObject):
    """The times of one document; made when its window is empty, before its first script."""

    asked = pyqtSignal()

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self._told = ""
        frame.addToJavaScriptWindowObject(NAME, self)
        script = CAPTURE.replace("NAME", NAME)
        for number, time in enumerate(TIMES):
            script = script.replace(f"TIME{number}", time)
        frame.evaluateJavaScript(script)

    @pyqtSlot(str)
    def told(self, text: str) -> None:
        self._told = text

    def read(self) -> dict[str, int]:
        """In ms since 1970, 0 for what has not happened; empty when nothing sensible was told."""
        self._told = ""
        self.asked.emit()
        words = self._told.split(" ")
        if len(words) != len(TIMES) or not all(word.isascii() and word.isdigit() for word in words):
            return {}
        return dict(zip(TIMES, map(int, words), strict=True))


class MessageSource(IntEnum):
    """QWebPage::MessageSource, as far as it must have a name."""

    JAVASCRIPT = 1


class MessageLevel(IntEnum):
    """QWebPage::MessageLevel."""

    LOG = 1
    WARNING = 2
    ERROR = 3
    DEBUG = 4
    INFO = 5


class Console(QObject):
    """Counts the errors a page writes to its console, uncaught exceptions among them, and keeps the first ones.

    PyQt has no name for the signal that tells the level (`javaScriptConsoleMessage` is told none), so the slot is
    connected by its name, which Qt's own function does for any signal.
    """

    Q_ENUM(MessageSource)
    Q_ENUM(MessageLevel)

    def __init__(self, page: Any) -> None:
        super().__init__()
        self.errors: list[str] = []
        self.count = 0
        page.setObjectName("page")
        page.setParent(self)
        ctypes.CDLL("libQt5Core.so.5")[CONNECT_SLOTS_BY_NAME](ctypes.c_void_p(sip.unwrapinstance(self)))
        about = page.metaObject()
        signals = (about.method(number) for number in range(about.methodCount()))
        heard = [each for each in signals if bytes(each.name()) == b"consoleMessageReceived"]
        if not any(page.isSignalConnected(each) for each in heard):
            raise RuntimeError("this QtWebKit does not tell the messages of the console")

    @pyqtSlot(MessageSource, MessageLevel, str, int, str, name="on_page_consoleMessageReceived")
    def hear(self, origin: int, level: int, message: str, line: int, source: str) -> None:
        if level != MessageLevel.ERROR:
            return
        self.count += 1
        if len(self.errors) < MOST_ERRORS:
            kind = "uncaught " if origin == MessageSource.JAVASCRIPT else ""
            self.errors.append(f"{kind}{message[:MOST_CHARACTERS]} ({source[:MOST_CHARACTERS]}:{line})")
