"""The language of variants: names of filters and sets, pure. What the filters do is in `sites.optimise`.

A variant is written as names separated by commas: filters and sets are added from left to right, and a name with a
minus before it is taken out again (`core`, `inline_css,combine_css`, `core,-inline_images`). A study may leave filters
out for one page, and set the limits of filters: the variant keeps its name then, and tells both beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from harness.errors import StudyError
from harness.input.keys import TOLD, nearest
from harness.input.shown import shortened
from harness.model.engine import AVIF, LAZY_IMAGES, PRELOAD, WEBP, Engine
from harness.model.filtersettings import SETTINGS, Changed, text_of

PLAIN = "plain"
PASSTHROUGH = "passthrough"  # no filter, but an archive of its own
NAME_LENGTH = 100  # of an archive, see model.NAME_PATTERN
SEPARATOR = "--"  # between page and variant

# In the order in which they are applied, whatever the order in which they are named.
FILTERS: Mapping[str, str] = {
    "inline_import_to_link": "a <style> that only imports becomes <link> elements",
    "flatten_css_imports": "@import in style sheets is replaced by what it imports",
    "move_css_to_head": "style sheets in the body move to the end of the head",
    "rewrite_css": "style sheets are minified",
    "rewrite_javascript": "scripts are minified",
    "combine_css": "neighbouring style sheets become one",
    "combine_javascript": "neighbouring scripts become one",
    "resize_images": "images shrink to the size their width and height attributes display them at",
    "strip_image_meta_data": "comments, EXIF and the like are taken out of images",
    "recompress_jpeg": "JPEG images above the quality limit are encoded anew at it",
    "recompress_png": "PNG images are packed better, without loss",
    "convert_jpeg_to_progressive": "JPEG images become progressive, without loss",
    "convert_jpeg_to_webp": "JPEG images become WebP",
    "convert_png_to_webp": "PNG images become lossless WebP",
    "convert_to_avif": "JPEG and PNG images become AVIF",
    "inline_css": "small style sheets move into the document",
    "inline_javascript": "small scripts move into the document",
    "inline_images": "small images move into the document as data URLs",
    "defer_javascript": "scripts run after the document is parsed",
    "lazyload_images": "images outside the first screen load when they come near",
    "extend_cache": "resources of the page may be cached for a year",
    "shard": "images and scripts of the document's host are spread over two more host names",
    "hint_preload_subresources": "the document's Link header names its style sheets and scripts",
    "remove_comments": "HTML comments are taken out",
    "collapse_whitespace": "runs of white space in HTML become one character",
    "elide_attributes": "attributes with their default value are taken out",
    "remove_quotes": "quotes around attribute values that need none are taken out",
}

# What an engine must take for a filter to serve it; the other filters serve each engine.
NEEDS: Mapping[str, str] = {
    "convert_jpeg_to_webp": WEBP,
    "convert_png_to_webp": WEBP,
    "convert_to_avif": AVIF,
    "lazyload_images": LAZY_IMAGES,
    "hint_preload_subresources": PRELOAD,
}

_RECOMPRESS = ("strip_image_meta_data", "recompress_jpeg", "recompress_png", "convert_jpeg_to_progressive")
_IMAGES = (*_RECOMPRESS, "convert_jpeg_to_webp", "convert_png_to_webp", "resize_images")
_REWRITE_IMAGES = ("inline_images", *_IMAGES)
_CORE_WITHOUT_IMAGES = (
    "combine_css",
    "combine_javascript",
    "extend_cache",
    "flatten_css_imports",
    "inline_css",
    "inline_import_to_link",
    "inline_javascript",
    "rewrite_css",
    "rewrite_javascript",
)
SETS: Mapping[str, tuple[str, ...]] = {
    PASSTHROUGH: (),
    "minify": (
        "collapse_whitespace",
        "remove_comments",
        "elide_attributes",
        "remove_quotes",
        "rewrite_css",
        "rewrite_javascript",
    ),
    "inline": (
        "inline_css",
        "inline_javascript",
        "inline_images",
        "inline_import_to_link",
        "flatten_css_imports",
    ),
    "images": _IMAGES,
    "rewrite_images": _REWRITE_IMAGES,
    "bandwidth": (*_RECOMPRESS, "convert_jpeg_to_webp", "rewrite_css", "rewrite_javascript"),
    "core": (*_CORE_WITHOUT_IMAGES, *_REWRITE_IMAGES),
    # CoreFilters as they were in the middle of 2012 (kCoreFilterSet, and images recompressed without loss).
    "core-2012": (
        *(name for name in _CORE_WITHOUT_IMAGES if name not in ("combine_javascript", "flatten_css_imports")),
        "inline_images",
        "strip_image_meta_data",
        "recompress_png",
        "convert_jpeg_to_progressive",
        "resize_images",
    ),
}


@dataclass(frozen=True)
class Variant:
    """A variant as it is named, and its filters in the order of application.

    `without`: filters of the name that are left out for a page, so that they are not among `filters`. `settings`:
    limits of its filters that are not the usual ones.
    """

    name: str
    filters: tuple[str, ...]
    without: tuple[str, ...] = ()
    settings: Changed = ()

    @property
    def is_plain(self) -> bool:
        """Whether the archive is loaded as it is, without a derived one."""
        return self.name == PLAIN

    def served_name(self, page: str) -> str:
        """The name of the archive that is this variant of a page; files of a run are named after it."""
        if self.is_plain:
            return page
        parts = [*self.name.split(","), *self._beside("without", self.without)]
        parts += self._beside("with", (f"{name}-{value}" for name, value in self.settings))
        written = ".".join(parts)
        if len(page) + len(written) > NAME_LENGTH - len(SEPARATOR):
            written = hashlib.sha256(",".join(parts).encode()).hexdigest()[:16]
            page = page[: NAME_LENGTH - len(SEPARATOR) - len(written)]
        return f"{page}{SEPARATOR}{written}"

    @staticmethod
    def _beside(word: str, parts: Iterable[str]) -> list[str]:
        """What is told beside the name, with the word before it; nothing where nothing is."""
        told = list(parts)
        return [word, *told] if told else []

    def leaving_out(self, filters: Collection[str]) -> Variant:
        """The same variant without those of the filters that it has."""
        out = tuple(name for name in self.filters if name in filters)
        left = tuple(name for name in self.filters if name not in filters)
        return replace(self, filters=left, without=(*self.without, *out)).with_settings(self.settings)

    def with_settings(self, settings: Changed) -> Variant:
        """The same variant by those of the settings that one of its filters keeps to."""
        own = tuple(
            (name, value) for name, value in settings if set(SETTINGS[name].filters) & set(self.filters)
        )
        return replace(self, settings=own)

    @property
    def written(self) -> str:
        """As `--variant` takes it, but for its settings: `core,-inline_css`."""
        return ",".join((self.name, *(f"-{name}" for name in self.without)))

    def unserved(self, engine: Engine) -> dict[str, str]:
        """The filters that cannot serve an engine, each with the reason."""
        return {
            name: f"{engine} does not take {NEEDS[name]}"
            for name in self.filters
            if NEEDS.get(name, "") not in {"", *engine.traits.takes}
        }

    def unserved_by_name(self, engine: Engine) -> dict[str, str]:
        """Those that the variant names itself; one that comes with a set is left out (`sites.optimise.derive`)."""
        named = self.name.split(",")
        return {name: reason for name, reason in self.unserved(engine).items() if name in named}

    def __str__(self) -> str:
        """`core without inline_css, combine_css with shard.hosts=3`."""
        parts = [self.name, *self._beside("without", [", ".join(self.without)] if self.without else ())]
        return " ".join([*parts, *self._beside("with", [text_of(self.settings)] if self.settings else ())])


AS_ARCHIVED = Variant(PLAIN, ())


def parse_variant(text: str) -> Variant:
    """The variant that `text` names; StudyError that lists the names when one is unknown.

    `plain` is the page itself, so it goes with no other name.
    """
    names = [part.strip() for part in text.split(",")]
    if names == [PLAIN]:
        return AS_ARCHIVED
    chosen: set[str] = set()
    for name in names:
        if name.startswith("-"):
            chosen -= _members(name[1:], text)
        else:
            chosen |= _members(name, text)
    return Variant(",".join(names), tuple(name for name in FILTERS if name in chosen))


def factorial(text: str) -> tuple[Variant, ...]:
    """What tells the filters of a variant apart: plain, each filter alone, the whole variant, the whole without each.

    StudyError when there are fewer than two filters in it.
    """
    whole = parse_variant(text)
    if len(whole.filters) < 2:
        raise StudyError(f"factorial {text[:100]!r}: it takes a variant of two filters or more")
    alone = (parse_variant(name) for name in whole.filters)
    without = (parse_variant(f"{whole.name},-{name}") for name in whole.filters)
    return AS_ARCHIVED, *alone, whole, *without


def _members(name: str, text: str) -> set[str]:
    if name in SETS:
        return set(SETS[name])
    if name in FILTERS:
        return {name}
    if name == PLAIN:
        raise StudyError(
            f"variant {text[:100]!r}: {PLAIN} is the page as it is and stands alone; leave it out"
        )
    hint = nearest(name, [*SETS, *FILTERS])
    raise StudyError(
        f"variant {text[:100]!r}: there is no filter or set {name[:60]!r}{hint}; sets: {PLAIN}, "
        f"{', '.join(SETS)}; filters: {shortened(list(FILTERS), TOLD) if hint else ', '.join(FILTERS)}"
    )
