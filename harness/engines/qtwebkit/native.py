"""What a document cannot forge: its own times as the engine counts them, and its console with its levels.

Runs in Debian's Python with PyQt, not in ours: it imports nothing of the project.
"""

from __future__ import annotations

import ctypes
import json
from enum import IntEnum
from typing import Any

from PyQt5 import sip
from PyQt5.QtCore import Q_ENUM, QObject, pyqtSignal, pyqtSlot

TIMES = ("navigationStart", "domContentLoadedEventEnd", "loadEventStart", "loadEventEnd")
# Runs before any script of a document. It keeps the engine's own getters, bound to the document's own timing, and the
# way to call them needs nothing of the page's world afterwards: no name is left there, nothing is looked up in what
# scripts can change, and what is handed over is a string made of numbers. It speaks when the load event begins, as the
# first of its listeners, and by way of a private channel when it has ended; a made-up load event has no start.
# (Qt can also call a script's function by a signal: in this version that ends the process once the stack has changed.)
CAPTURE = """(function (name, names) {
  "use strict";
  var bridge = window[name], timing = performance.timing, channel = new MessageChannel();
  delete window[name];
  var bound = Function.prototype.call.bind(Function.prototype.bind, Function.prototype.call);
  function reader(of) {
    var holder = timing, found;
    while (!(found = Object.getOwnPropertyDescriptor(holder, of))) holder = Object.getPrototypeOf(holder);
    return bound(found.get, timing);
  }
  var first = reader(names[0]), second = reader(names[1]), start = reader(names[2]), end = reader(names[3]);
  var later = bound(channel.port2.postMessage, channel.port2);
  function tell() {
    bridge.told(first() + " " + second() + " " + start() + " " + end());
    if (end() === 0) later(0);
  }
  channel.port1.onmessage = tell;
  window.addEventListener("load", function () { if (start() > 0) tell(); });
})("%s", %s)"""
NAME = "coldload"
# What the engine says of a header that the testbed adds for today's browsers (sites/served.py).
OWN_HEADER = "Unrecognized Content-Security-Policy directive 'upgrade-insecure-requests'.\n"
MOST_ERRORS = 20
MOST_CHARACTERS = 300
CONNECT_SLOTS_BY_NAME = "_ZN11QMetaObject18connectSlotsByNameEP7QObject"


class Times(QObject):
    """The times of one document, in ms since 1970; made when its window is empty, before its first script.

    `latest` is empty until the load event begins; what has not happened then is 0. `ended` follows its end.
    """

    ended = pyqtSignal()

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self.latest: dict[str, int] = {}
        frame.addToJavaScriptWindowObject(NAME, self)
        frame.evaluateJavaScript(CAPTURE % (NAME, json.dumps(TIMES)))

    @pyqtSlot(str)
    def told(self, text: str) -> None:
        words = text.split(" ")
        if len(words) == len(TIMES) and all(word.isascii() and word.isdigit() for word in words):
            self.latest = dict(zip(TIMES, map(int, words), strict=True))
            if self.latest["loadEventEnd"]:
                self.ended.emit()


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
        heard = [signal for signal in signals if bytes(signal.name()) == b"consoleMessageReceived"]
        if not any(page.isSignalConnected(signal) for signal in heard):
            raise RuntimeError("this QtWebKit does not tell the messages of the console")

    @pyqtSlot(MessageSource, MessageLevel, str, int, str, name="on_page_consoleMessageReceived")
    def hear(self, origin: int, level: int, message: str, line: int, source: str) -> None:
        if level != MessageLevel.ERROR or message == OWN_HEADER:
            return
        self.count += 1
        if len(self.errors) < MOST_ERRORS:
            kind = "uncaught " if origin == MessageSource.JAVASCRIPT else ""
            self.errors.append(f"{kind}{message[:MOST_CHARACTERS]} ({source[:MOST_CHARACTERS]}:{line})")
