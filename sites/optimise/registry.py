"""Which function each filter is, by family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.model.filtersettings import FilterSettings
from harness.model.variant import FILTERS
from sites.optimise.document import Notes
from sites.optimise.filters import (
    caching,
    combine,
    css,
    domains,
    hints,
    html,
    images,
    inline,
    javascript,
    minify,
)
from sites.optimise.page import Page

Apply = Callable[[Page, FilterSettings], tuple[Page, Notes]]


@dataclass(frozen=True)
class Filter:
    """A filter: its name and meaning as `harness.model.variant` has them, its family, and what it does."""

    name: str
    meaning: str
    family: str
    apply: Apply


_FAMILIES: Mapping[str, tuple[Apply, ...]] = {
    "html": (html.collapse_whitespace, html.remove_comments, html.elide_attributes, html.remove_quotes),
    "css": (minify.rewrite_css, css.flatten_css_imports, css.inline_import_to_link, css.move_css_to_head),
    "javascript": (minify.rewrite_javascript, javascript.defer_javascript),
    "combine": (combine.combine_css, combine.combine_javascript),
    "inline": (inline.inline_css, inline.inline_javascript, inline.inline_images),
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
    "hints": (hints.lazyload_images, hints.hint_preload_subresources),
    "caching": (caching.extend_cache,),
    "domains": (domains.shard,),
}
_BY_NAME = {apply.__name__: (family, apply) for family, group in _FAMILIES.items() for apply in group}

# By name, in the order of application.
REGISTRY: Mapping[str, Filter] = {
    name: Filter(name, meaning, *_BY_NAME[name]) for name, meaning in FILTERS.items()
}
