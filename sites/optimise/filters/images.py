"""Images: resized, stripped, packed better, converted. URLs stay; a browser goes by the media type.

What cannot be decoded, is animated or above the pixel limit is left alone. An encoding is kept only if it is smaller.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote, urlsplit

from harness.model.filtersettings import FilterSettings
from sites.mediatype import is_text
from sites.optimise import picture
from sites.optimise.document import Notes, documents_of, images_with_ancestors
from sites.optimise.lookups import may_be_script
from sites.optimise.markup import Tag
from sites.optimise.page import FORBIDDEN, LeftAlone, Note, Page, Resource
from sites.optimise.shownsize import Effect, Sizes

PixelSize = tuple[int, int]

WORKERS = 2
JPEG, PNG, WEBP, AVIF = "image/jpeg", "image/png", "image/webp", "image/avif"
MIN_GAIN_BYTES = 1
_ASKS_FOR_SIZES = re.compile(r"naturalWidth|naturalHeight|drawImage|createImageBitmap")
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
            raise LeftAlone(f"smaller than {settings.progressive_jpeg_min_bytes} bytes")
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
            raise LeftAlone("it was WebP to begin with")
        return picture.avif(_source(image), settings.avif_quality, settings.avif_speed), AVIF

    return _each(page, settings, (JPEG, PNG, WEBP), change, lossy=True)


def resize_images(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images shrink to the largest size that width and height attributes display them at.

    Left alone: an image without both attributes, or with other proportions than theirs; one that a style sheet may
    show in another size; one that anything else refers to (a link, srcset, a style sheet, a script, JSON), which may
    show it in full; all where a script asks for the sizes of pictures.
    """
    shown, others = _displayed(page)
    notes = [Note(url, why) for url, why in others.items()]

    def change(image: Resource) -> tuple[bytes, str]:
        return picture.resized(image.body, shown[image.url], settings.jpeg_quality), image.mime

    chosen = [page.resources[url] for url in shown]
    page, more = _each(page, settings, (JPEG, PNG), change, among=chosen)
    return page, (*notes, *more)


def _displayed(page: Page) -> tuple[dict[str, PixelSize], dict[str, str]]:
    """By URL: the size in pixels that the largest of its places needs; and why it cannot be told."""
    shown: dict[str, PixelSize] = {}
    others: dict[str, str] = {}
    uses: Counter[str] = Counter()
    sizes = Sizes(_sheets(page))
    for document in documents_of(page):
        for element, ancestors in images_with_ancestors(document):
            image = document.referred(element.tag.get("src"))
            if image is None or image.mime not in (JPEG, PNG):
                continue
            uses[image.url] += 1
            try:
                size = _needed(image, element.tag, ancestors, sizes)
            except LeftAlone as why:
                others[image.url] = str(why)
                continue
            shown[image.url] = max(size, shown.get(image.url, (0, 0)))
    text = _texts(page)
    if _ASKS_FOR_SIZES.search(text):
        return {}, dict.fromkeys([*shown, *others], "a script asks for the sizes of pictures, or draws them")
    for url in shown:
        if _is_named_elsewhere(url, uses[url], text):
            others[url] = "something beside images with a size refers to it"
    return {url: size for url, size in shown.items() if url not in others}, others


def _needed(image: Resource, tag: Tag, ancestors: tuple[Tag, ...], sizes: Sizes) -> PixelSize:
    """The pixels an <img> needs. LeftAlone where its attributes do not say how large it is shown."""
    size = _size(tag.get("width"), tag.get("height"))
    if size is None:
        raise LeftAlone("the document gives no size in pixels")
    refuse_choice(tag, ancestors)
    own = picture.size_of(image.body)
    refuse_other_proportions(own, size)
    effect = sizes.effect(tag, ancestors)
    refuse_sized_by_style(effect)
    return in_proportion(size, own) if effect is Effect.PROPORTIONS else size


def refuse_choice(tag: Tag, ancestors: tuple[Tag, ...]) -> None:
    """An image that is one of a choice."""
    if "srcset" in tag.names or any(ancestor.name == "picture" for ancestor in ancestors):
        raise LeftAlone("the browser chooses among several images")


def refuse_other_proportions(own: PixelSize, shown: PixelSize) -> None:
    """An image whose width and height attributes are not, to a pixel, those of the picture made smaller."""
    if abs(own[0] * shown[1] - own[1] * shown[0]) > max(own):
        raise LeftAlone("its width and height do not have the picture's proportions")


def refuse_sized_by_style(effect: Effect) -> None:
    """An image that a style sheet may show larger, or in other proportions."""
    if effect is Effect.SIZE:
        raise LeftAlone("a style sheet may show it in another size")


def in_proportion(shown: PixelSize, own: PixelSize) -> PixelSize:
    """The smallest size that is at least as large as shown and has exactly the picture's own proportions."""
    common = math.gcd(*own)
    step = own[0] // common, own[1] // common
    times = max(math.ceil(size / each) for size, each in zip(shown, step, strict=True))
    return times * step[0], times * step[1]


def _is_named_elsewhere(url: str, uses: int, text: str) -> bool:
    """Whether its name stands more often in the page than images show it."""
    name = urlsplit(url).path.rpartition("/")[2]
    return not name or max(text.count(name), text.count(unquote(name))) > uses


def _texts(page: Page) -> str:
    """Everything of the page that may name an image or hold a script, byte for byte as latin-1."""
    return "\n".join(
        resource.body.decode("latin-1")
        for resource in page.resources.values()
        if may_be_script(resource) or (resource.usable and is_text(resource.mime))
    )


def _sheets(page: Page) -> Iterator[str]:
    """The text of every style sheet of the page."""
    for resource in page.resources.values():
        if resource.is_style:
            text = resource.text("css")
            yield text.text if text is not None else resource.body.decode("latin-1")
    for document in documents_of(page):
        yield from (element.content for element in document.named("style"))


def _size(width: str | None, height: str | None) -> PixelSize | None:
    matches = _WHOLE.fullmatch(width or ""), _WHOLE.fullmatch(height or "")
    return (int(matches[0][1]), int(matches[1][1])) if matches[0] and matches[1] else None


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
        if not image.may_change:
            return Note(image.url, FORBIDDEN)
        try:
            picture.check(image.body, settings.image_resolution_limit_bytes)
            body, mime = change(image)
        except LeftAlone as why:
            return Note(image.url, str(why))
        if len(body) + MIN_GAIN_BYTES > len(image.body):
            return Note(image.url, "it would not become smaller")
        return image.with_body(body, mime, pixels=_source(image) if lossy else image.pixels)

    candidates = page.resources.values() if among is None else among
    images = [candidate for candidate in candidates if candidate.usable and candidate.mime in kinds]
    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(attempt, images))
    page = page.with_resources(result for result in results if isinstance(result, Resource))
    return page, tuple(result for result in results if isinstance(result, Note))
