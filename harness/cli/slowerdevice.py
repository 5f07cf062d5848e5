"""A word on devices whose processor is slower than that of this machine."""

from __future__ import annotations

from collections.abc import Collection

from harness.model.condition import FULL_SPEED
from harness.model.device import Device


def slower_device(device: Device, slowdowns: Collection[int]) -> str | None:
    """What to say where a device that is slower than a desktop is measured at the full speed of this machine alone."""
    if device.cpu_slowdown == FULL_SPEED or set(slowdowns) != {FULL_SPEED}:
        return None
    return (
        f"device: {device} runs at the full speed of this machine's processor; "
        f"cpu_slowdown = {device.cpu_slowdown} is usual for it"
    )
