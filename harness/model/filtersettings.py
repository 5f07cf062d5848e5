"""The limits of the filters: what they are, how a study or `--set` writes them, and what they are in mod_pagespeed.

A setting is written `inline_css.max_bytes=4096`, several of them with commas; a study has a table for each filter. The
option of mod_pagespeed is the same setting under its older name. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown

Changed = tuple[tuple[str, int], ...]  # settings that are not the usual ones, by name, in their order
PREFIX = "modpagespeed"  # what Apache's configuration writes before an option
LARGEST_BYTES = 100_000_000


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
    cache_seconds: int = 31_536_000  # a year, kDefault of extend_cache
    shards: int = 2

    @classmethod
    def of(cls, changed: Changed) -> FilterSettings:
        """The usual ones but for those that are changed."""
        return cls(**{SETTINGS[name].attribute: value for name, value in changed})


DEFAULTS = FilterSettings()


@dataclass(frozen=True)
class FilterSetting:
    """A limit: the field of `FilterSettings` that it is, its bounds, and the filters that keep to it.

    `option` is its name in mod_pagespeed, "" where that has none.
    """

    attribute: str
    least: int
    most: int
    filters: tuple[str, ...]
    meaning: str
    option: str = ""

    @property
    def usual(self) -> int:
        return int(getattr(DEFAULTS, self.attribute))


_WEBP = ("convert_jpeg_to_webp", "convert_png_to_webp")
_PIXELS = (
    "resize_images",
    "strip_image_meta_data",
    "recompress_jpeg",
    "recompress_png",
    "convert_jpeg_to_progressive",
    *_WEBP,
    "convert_to_avif",
)
# By name: the filter (or `images`, which is all that change pictures), a dot, and the key of its table in a study.
SETTINGS: Mapping[str, FilterSetting] = {
    "flatten_css_imports.max_bytes": FilterSetting(
        "css_flatten_max_bytes",
        1,
        LARGEST_BYTES,
        ("flatten_css_imports",),
        "the largest style sheet with its imports",
        "CssFlattenMaxBytes",
    ),
    "combine_javascript.max_bytes": FilterSetting(
        "max_combined_js_bytes",
        1,
        LARGEST_BYTES,
        ("combine_javascript",),
        "the largest combined script",
        "MaxCombinedJsBytes",
    ),
    "images.resolution_limit_bytes": FilterSetting(
        "image_resolution_limit_bytes",
        1,
        2**30,
        _PIXELS,
        "the largest image, at four bytes a pixel",
        "ImageResolutionLimitBytes",
    ),
    "images.webp_effort": FilterSetting("webp_effort", 0, 6, _WEBP, "how hard libwebp packs"),
    "recompress_jpeg.quality": FilterSetting(
        "jpeg_quality",
        1,
        100,
        ("recompress_jpeg", "resize_images"),
        "the quality of a JPEG that is encoded anew",
        "JpegRecompressionQuality",
    ),
    "recompress_png.effort": FilterSetting("png_effort", 0, 6, ("recompress_png",), "how hard oxipng packs"),
    "convert_jpeg_to_progressive.min_bytes": FilterSetting(
        "progressive_jpeg_min_bytes",
        1,
        LARGEST_BYTES,
        ("convert_jpeg_to_progressive",),
        "the smallest JPEG that becomes progressive",
        "ProgressiveJpegMinBytes",
    ),
    "convert_jpeg_to_webp.quality": FilterSetting(
        "webp_quality",
        1,
        100,
        ("convert_jpeg_to_webp",),
        "the highest quality of a WebP",
        "WebpRecompressionQuality",
    ),
    "convert_to_avif.quality": FilterSetting(
        "avif_quality", 1, 100, ("convert_to_avif",), "the quality of an AVIF"
    ),
    "convert_to_avif.speed": FilterSetting(
        "avif_speed", 0, 10, ("convert_to_avif",), "how fast libavif packs"
    ),
    "inline_css.max_bytes": FilterSetting(
        "css_inline_max_bytes",
        1,
        LARGEST_BYTES,
        ("inline_css",),
        "the largest style sheet that moves",
        "CssInlineMaxBytes",
    ),
    "inline_javascript.max_bytes": FilterSetting(
        "js_inline_max_bytes",
        1,
        LARGEST_BYTES,
        ("inline_javascript",),
        "the largest script that moves",
        "JsInlineMaxBytes",
    ),
    "inline_images.max_bytes": FilterSetting(
        "image_inline_max_bytes",
        1,
        LARGEST_BYTES,
        ("inline_images",),
        "the largest image that moves",
        "ImageInlineMaxBytes",
    ),
    "lazyload_images.skip": FilterSetting(
        "lazyload_skip", 0, 10_000, ("lazyload_images",), "images at the top that load at once"
    ),
    "extend_cache.seconds": FilterSetting(
        "cache_seconds", 1, 10 * 31_536_000, ("extend_cache",), "how long resources may be cached"
    ),
    "shard.hosts": FilterSetting("shards", 1, 16, ("shard",), "host names beside the document's"),
}
_BY_OPTION = {setting.option.lower(): name for name, setting in SETTINGS.items() if setting.option}


def settings_of(text: str) -> Changed:
    """Settings as `--set` and records write them: `inline_css.max_bytes=4096,shard.hosts=3`; StudyError for others."""
    return changed_of(map(_written, text.split(",")))


def settings_in(tables: Mapping[str, Any]) -> Changed:
    """The tables of a study: `inline_css = {max_bytes = 4096}`."""
    pairs = []
    for group, table in tables.items():
        if not isinstance(table, dict) or not table:
            raise StudyError(f"filters: {group} must be a table of its settings, found {shown(table)}")
        pairs += [(_known(f"{group}.{key}"), value) for key, value in table.items()]
    return changed_of(pairs)


def changed_of(pairs: Iterable[tuple[str, Any]]) -> Changed:
    """Those of some settings that are not the usual ones, in the order of `SETTINGS`."""
    given: dict[str, int] = {}
    for name, value in pairs:
        setting = SETTINGS[name]
        if name in given:
            raise StudyError(f"{name} is set twice; leave one out")
        given[name] = int(keys.checked_number(name, value, setting.least, setting.most, whole=True))
    unlike = {name: value for name, value in given.items() if value != SETTINGS[name].usual}
    return tuple((name, unlike[name]) for name in SETTINGS if name in unlike)


def text_of(changed: Changed) -> str:
    """Inverse of `settings_of`."""
    return ",".join(f"{name}={value}" for name, value in changed)


def _written(entry: str) -> tuple[str, int]:
    name, equals, value = (part.strip() for part in entry.partition("="))
    if not name or not equals or not value:
        raise StudyError(
            f"{shown(entry)} is no setting of a filter; write NAME=NUMBER, as in inline_css.max_bytes=4096"
        )
    known = _known(_BY_OPTION.get(name.lower().removeprefix(PREFIX), name))
    try:
        return known, int(value)
    except ValueError:
        raise StudyError(f"{known} must be a whole number, found {shown(value)}") from None


def _known(name: str) -> str:
    if name not in SETTINGS:
        options = {setting.option: named for named, setting in SETTINGS.items() if setting.option}
        near = keys.nearest(name, [*SETTINGS, *options])
        raise StudyError(
            f"no filter has a setting {shown(name)}{near}; `coldload optimize` without arguments lists them: "
            f"{keys.listed(name, SETTINGS)}"
        )
    return name
