"""A slower processor, for both drivers of Chromium: DevTools' own throttling of a page's main thread.

Chromium interrupts the thread and spends time, so that what it does takes so many times as long. Compositing, decoding
of pictures, the network and workers go on at full speed: the protocol has nothing that slows a worker.
"""

from __future__ import annotations

from harness.browser.world import Send

AT_FULL_SPEED = 1


def slow(send: Send, times: int) -> None:
    """Slow what the session's target runs from now on, across navigations; at full speed there is nothing to do."""
    if times != AT_FULL_SPEED:
        send("Emulation.setCPUThrottlingRate", {"rate": times})
