"""The filters, by family. Each is a pure function from a page and the settings to a page and notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.model.filtersettings import FilterSettings
from harness.model.variant import FILTERS
from sites.optimise.document import Notes
from sites.optimise.filters import combine, delivery, files, html, images
from sites.optimise.page import Page

Apply = Callable[[Page, FilterSettings], tuple[Page, Notes]]


@dataclass(frozen=True)
class Filter:
    """A filter: its family, and what it does. `harness.model.variant` has its meaning."""

    family: str
    apply: Apply


_FAMILIES: Mapping[str, tuple[Apply, ...]] = {
    "html": (html.collapse_whitespace, html.remove_comments, html.elide_attributes, html.remove_quotes),
    "css": (
        files.rewrite_css,
        files.flatten_css_imports,
        files.inline_import_to_link,
        files.move_css_to_head,
    ),
    "javascript": (files.rewrite_javascript, files.defer_javascript),
    "combine": (combine.combine_css, combine.combine_javascript),
    "inline": (delivery.inline_css, delivery.inline_javascript, delivery.inline_images),
    "images": (
        images.resize_images,
        images.strip_image_meta_data,
        images.recompress_jpeg,
        images.recompress_png,
        images.convert_jpeg_to_progressive,
        images.convert_jpeg_to_webp,
        images.convert_png_to_webp,
        images.convert_to_avif,
    ),
    "hints": (delivery.lazyload_images, delivery.hint_preload_subresources),
    "caching": (delivery.extend_cache,),
    "domains": (delivery.shard,),
}
_BY_NAME = {apply.__name__: Filter(family, apply) for family, group in _FAMILIES.items() for apply in group}

# By name, in the order of application.
REGISTRY: Mapping[str, Filter] = {name: _BY_NAME[name] for name in FILTERS}
