"""How Chromium is made to look like another device: flags for its start, commands for its tab. For both drivers.

The user agent goes by flags, so that frames of other sites and workers have it, too; what no flag does goes by
commands of the Chrome DevTools Protocol, before the page is loaded. A desktop needs none of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.model.device import Device

TOUCH_POINTS = 5
# What the client hints say beside brands and version, which Chromium fills in. Chrome's reduced user agent
# (Android 10; K) tells neither model nor version.
CLIENT_HINTS = {
    "platform": "Android",
    "platformVersion": "10.0.0",
    "architecture": "",
    "model": "",
    "mobile": True,
}


def flags(device: Device) -> tuple[str, ...]:
    """Flags for the start of the browser."""
    mobile = ("--use-mobile-user-agent",) if device.screen else ()  # its client hints say "mobile"
    named = (f"--user-agent={device.user_agent}",) if device.user_agent else ()
    return (*mobile, *named)


def commands(device: Device) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Commands for the tab, each with its parameters."""
    screen = device.screen
    if screen is None:
        return ()
    metrics = {
        "width": screen.width,
        "height": screen.height,
        "screenWidth": screen.width,
        "screenHeight": screen.height,
        "deviceScaleFactor": screen.scale_factor,
        "mobile": True,
        "screenOrientation": {"type": "portraitPrimary", "angle": 0},
    }
    touch = {"enabled": True, "maxTouchPoints": TOUCH_POINTS}
    agent = {
        "userAgent": device.user_agent or "",
        "platform": "Linux armv81",
        "userAgentMetadata": CLIENT_HINTS,
    }
    return (
        ("Emulation.setDeviceMetricsOverride", metrics),
        ("Emulation.setScrollbarsHidden", {"hidden": True}),  # they take no room on a touch screen
        ("Emulation.setTouchEmulationEnabled", touch),
        ("Emulation.setUserAgentOverride", agent),
    )
