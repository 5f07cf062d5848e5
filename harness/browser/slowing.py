"""A slower processor, for both drivers of Chromium: DevTools' own throttling of a page's main thread.

Chromium interrupts the thread and spends time, so that what it does takes so many times as long, across navigations.
Pictures are decoded, layers composed, and the network works, at full speed, and so do workers: the protocol has nothing
that slows one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from harness.browser.world import Send

AT_FULL_SPEED = 1
FRAME, PAGE = "iframe", "page"  # of another site, and so in a process of its own; a window
WORKERS = frozenset({"worker", "shared_worker", "service_worker"})
# Whoever attaches so hears of each frame and worker before it runs, and speaks to it in messages.
AS_THEY_START = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": False}
ATTACHED = "Target.attachedToTarget"


def slow(send: Send, times: int) -> None:
    """Slow the session's own target; at full speed there is nothing to do."""
    if times != AT_FULL_SPEED:
        send("Emulation.setCPUThrottlingRate", {"rate": times})


def slow_too(send: Send, attached: Mapping[str, Any], times: int) -> None:
    """Slow a target that waits to start, if it can be, and let it run."""
    commands: Mapping[str, Any] = {
        "Emulation.setCPUThrottlingRate": {"rate": times},
        "Runtime.runIfWaitingForDebugger": {},
    }
    for number, (method, parameters) in enumerate(commands.items(), start=1):
        message = json.dumps({"id": number, "method": method, "params": parameters})
        send("Target.sendMessageToTarget", {"sessionId": attached["sessionId"], "message": message})


def at_full_speed(send: Send, kinds: Collection[str]) -> int:
    """How many targets of these kinds there are. Of pages the one that is loaded is slowed."""
    there = [each["type"] for each in send("Target.getTargets", {})["targetInfos"]]
    return sum(there.count(kind) for kind in kinds) + max(0, there.count(PAGE) - 1)
