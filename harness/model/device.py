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
    """What the browser says it runs on. Without a screen: a window. Without a user agent: its own, which says that
    it is headless, and to which some pages show something else.

    `cpu_slowdown` is how many times slower its processor usually is than that of a desktop. It is a suggestion: a
    processor is slowed where a study says so.
    """

    name: str
    user_agent: str | None = None
    screen: Screen | None = None
    cpu_slowdown: int = 1

    def __str__(self) -> str:
        return self.name


# Chrome's reduced user agents, the same on all desktops with Linux, and on all Android phones, of a major version.
DESKTOP = Device(
    "desktop",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
)
MOBILE = Device(
    "mobile",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/156.0.0.0 Mobile Safari/537.36",
    Screen(412, 915, 2.625),  # Google Pixel 6 and 7
    cpu_slowdown=4,  # Lighthouse's for a mid-range phone
)
DEVICES: Mapping[str, Device] = {device.name: device for device in (DESKTOP, MOBILE)}
