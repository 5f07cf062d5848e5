"""The emulator's own counters while packets cross: asked by a signal, read from its log."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.capacity.logtail import Tail
from harness.lab.emulated import EmulatedLink

PATIENCE_S = 0.2
POLL_S = 0.005
DROPS = ("drops_queue", "drops_loss", "drops_codel", "drops_device")


@dataclass(frozen=True)
class Counters:
    """Since the emulator started: its CPU, and by direction the packets and IP bytes that left it, and those lost."""

    cpu_s: float
    down_packets: int
    up_packets: int
    down_bytes: int
    up_bytes: int
    down_drops: int
    up_drops: int


class LinkWatch:
    """Asks an emulator for its counters."""

    def __init__(self, link: EmulatedLink) -> None:
        self._pid, self._tail = link.pid, Tail(link.log)

    def ask(self) -> Counters | None:
        """The counters now; None when they do not come at once."""
        self._tail.gained()  # what others asked for
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGUSR1)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            time.sleep(POLL_S)
            for line in self._tail.gained().splitlines():
                with contextlib.suppress(ValueError):  # what it complains of
                    event = json.loads(line)
                    if event["event"] == "stats":
                        return counters(event)
        return None


def counters(event: Mapping[str, Any]) -> Counters:
    """What the emulator says, as a value. Pure."""
    down, up = event["down"], event["up"]
    return Counters(
        cpu_s=event["cpu_user_s"] + event["cpu_system_s"],
        down_packets=down["packets_out"],
        up_packets=up["packets_out"],
        down_bytes=down["bytes_out"],
        up_bytes=up["bytes_out"],
        down_drops=sum(down[name] or 0 for name in DROPS),
        up_drops=sum(up[name] or 0 for name in DROPS),
    )
