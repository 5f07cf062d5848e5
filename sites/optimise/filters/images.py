"""Images: resized, stripped, packed better, converted. URLs stay; a browser goes by the media type.

What cannot be decoded, is animated or above the pixel limit is left alone. An encoding is kept only if it is smaller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote, urlsplit

from sites.optimise import picture
from sites.optimise.document import Notes, open_document
from sites.optimise.page import Note, Page, Resource
from sites.optimise.references import script_texts
from sites.optimise.settings import FilterSettings

WORKERS = 2
JPEG, PNG, WEBP, AVIF = "image/jpeg", "image/png", "image/webp", "image/avif"
MIN_GAIN_BYTES = 1
_WHOLE = re.compile(r"\s*([1-9][0-9]{0,4})(?:px)?\s*")


def strip_image_meta_data(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Comments, EXIF, XMP, thumbnails out of JPEG and PNG files; colour profiles stay, they change how it looks."""
    return _each(page, settings, (JPEG, PNG), lambda image: (picture.stripped(image.body), image.mime))


def recompress_jpeg(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """JPEG files whose quality is above the limit, encoded anew at it with 4:2:0 chroma."""

    def change(image: Resource) -> tuple[bytes, str]:
        return picture.jpeg(image.body, settings.jpeg_quality), JPEG

    return _each(page, settings, (JPEG,), change, lossy=True)


def recompress_png(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """PNG files packed better; every pixel stays."""
    return _each(
        page, settings, (PNG,), lambda image: (picture.packed_png(image.body, settings.png_effort), PNG)
    )


def convert_jpeg_to_progressive(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """JPEG files from the size limit on, as progressive ones; every coefficient stays."""

    def change(image: Resource) -> tuple[bytes, str]:
        if len(image.body) < settings.progressive_jpeg_min_bytes:
            raise picture.LeftAlone(f"smaller than {settings.progressive_jpeg_min_bytes} bytes")
        return picture.progressive(image.body), JPEG

    return _each(page, settings, (JPEG,), change)


def convert_jpeg_to_webp(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """JPEG files as WebP, at the quality limit or that of the file if it is lower."""

    def change(image: Resource) -> tuple[bytes, str]:
        return picture.webp(_source(image), settings.webp_quality, settings.webp_effort), WEBP

    return _each(page, settings, (JPEG,), change, lossy=True)


def convert_png_to_webp(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """PNG files as lossless WebP."""
    return _each(
        page,
        settings,
        (PNG,),
        lambda image: (picture.webp(image.body, None, settings.webp_effort), WEBP),
        lossy=True,
    )


def convert_to_avif(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """JPEG and PNG files (also those made WebP before) as AVIF."""

    def change(image: Resource) -> tuple[bytes, str]:
        if image.mime == WEBP and image.pixels is None:
            raise picture.LeftAlone("it was WebP to begin with")
        return picture.avif(_source(image), settings.avif_quality, settings.avif_speed), AVIF

    return _each(page, settings, (JPEG, PNG, WEBP), change, lossy=True)


def resize_images(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images shrink to the largest size that width and height attributes display them at.

    Left alone: an image that anything else refers to (a link, srcset, a style sheet, a script), which may show it
    in full, and an image without both attributes.
    """
    shown, others = _displayed(page)
    notes = [Note(url, why) for url, why in others.items()]

    def change(image: Resource) -> tuple[bytes, str]:
        return picture.resized(image.body, shown[image.url], settings.jpeg_quality), image.mime

    chosen = [page.resources[url] for url in shown]
    page, more = _each(page, settings, (JPEG, PNG), change, among=chosen)
    return page, (*notes, *more)


def _displayed(page: Page) -> tuple[dict[str, tuple[int, int]], dict[str, str]]:
    """By URL: the largest size shown; and why it cannot be told."""
    sizes: dict[str, tuple[int, int]] = {}
    others: dict[str, str] = {}
    uses: dict[str, int] = {}
    for document in filter(None, (open_document(page, url) for url in page.documents)):
        for element in document.named("img"):
            found = document.referred(element.tag.get("src"))
            if found is None or found.mime not in (JPEG, PNG):
                continue
            size = _size(element.tag.get("width"), element.tag.get("height"))
            if size is None:
                others[found.url] = "the document gives no size in pixels"
                continue
            uses[found.url] = uses.get(found.url, 0) + 1
            before = sizes.get(found.url, (0, 0))
            sizes[found.url] = (max(size[0], before[0]), max(size[1], before[1]))
    text = "\n".join(_everything(page))
    for url, count in uses.items():
        name = urlsplit(url).path.rpartition("/")[2]
        if not name or max(text.count(name), text.count(unquote(name))) > count:
            others[url] = "something beside images with a size refers to it"
    return {url: size for url, size in sizes.items() if url not in others}, others


def _everything(page: Page) -> Iterable[str]:
    yield from script_texts(page)
    yield from (each.body.decode("latin-1") for each in page.resources.values() if each.is_style)


def _size(width: str | None, height: str | None) -> tuple[int, int] | None:
    found = _WHOLE.fullmatch(width or ""), _WHOLE.fullmatch(height or "")
    return (int(found[0][1]), int(found[1][1])) if found[0] and found[1] else None


def _source(image: Resource) -> bytes:
    """What to encode from: the image before any loss that was made here."""
    return image.body if image.pixels is None else image.pixels


def _each(
    page: Page,
    settings: FilterSettings,
    kinds: tuple[str, ...],
    change: Callable[[Resource], tuple[bytes, str]],
    *,
    lossy: bool = False,
    among: Iterable[Resource] | None = None,
) -> tuple[Page, Notes]:
    """Apply a change to every image of these media types, on both cores; codecs release the interpreter's lock."""

    def attempt(image: Resource) -> Resource | Note:
        try:
            picture.check(image.body, settings.image_resolution_limit_bytes)
            body, mime = change(image)
        except picture.LeftAlone as why:
            return Note(image.url, str(why))
        if len(body) + MIN_GAIN_BYTES > len(image.body):
            return Note(image.url, "it would not become smaller")
        return image.with_body(body, mime, pixels=_source(image) if lossy else image.pixels)

    candidates = page.resources.values() if among is None else among
    images = [each for each in candidates if each.usable and each.mime in kinds]
    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(attempt, images))
    page = page.with_resources(each for each in results if isinstance(each, Resource))
    return page, tuple(each for each in results if isinstance(each, Note))
