"""The limits of the filters, with mod_pagespeed's defaults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model.device import DEVICES, Device


def scale_of(devices: Iterable[Device]) -> float:
    """Device pixels per CSS pixel of the sharpest of these devices; a window has one."""
    return max((device.screen.scale_factor if device.screen else 1.0 for device in devices), default=1.0)


SHARPEST_SCREEN = scale_of(DEVICES.values())


@dataclass(frozen=True)
class FilterSettings:
    """Sizes are bytes of decoded bodies. Where no other source is given, a default is that of mod_pagespeed,
    net/instaweb/rewriter/rewrite_options.cc (`kDefault...`) of apache/incubator-pagespeed-mod.
    """

    css_inline_max_bytes: int = 2048
    css_flatten_max_bytes: int = 1_024_000
    js_inline_max_bytes: int = 2048
    image_inline_max_bytes: int = 3072
    max_combined_js_bytes: int = 90 * 1024
    jpeg_quality: int = 85
    webp_quality: int = 80
    progressive_jpeg_min_bytes: int = 10_240
    image_resolution_limit_bytes: int = 32 * 1024 * 1024  # four bytes a pixel
    # Ours: AVIF came after mod_pagespeed. Quality 60 of libavif looks about like 80 of WebP; speed 6 is its default.
    avif_quality: int = 60
    avif_speed: int = 6
    webp_effort: int = 4  # libwebp's default
    png_effort: int = 2  # oxipng's default; level 4 takes three times as long for 0.6 % fewer bytes
    lazyload_skip: int = 3  # ours: images at the top, which lazy loading would only delay
    screen_scale: float = SHARPEST_SCREEN  # ours: device pixels per CSS pixel that resize_images keeps
    cache_seconds: int = 31_536_000  # a year, kDefault of extend_cache
    shards: int = 2


DEFAULTS = FilterSettings()
