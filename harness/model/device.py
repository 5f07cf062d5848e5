"""What a browser says it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Screen:
    """A touch screen in portrait: CSS pixels, and device pixels per CSS pixel."""

    width: int
    height: int
    scale_factor: float


@dataclass(frozen=True)
class Device:
    """What the browser says it runs on. Without screen and user agent: the browser as it is, in a window."""

    name: str
    user_agent: str | None = None
    screen: Screen | None = None

    def __str__(self) -> str:
        return self.name


DESKTOP = Device("desktop")
MOBILE = Device(
    "mobile",
    # Chrome's reduced user agent, the same on all Android phones of a major version.
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/156.0.0.0 Mobile Safari/537.36",
    Screen(412, 915, 2.625),  # Google Pixel 6 and 7
)
DEVICES: Mapping[str, Device] = {device.name: device for device in (DESKTOP, MOBILE)}
