"""Files go to other host names, but not where only their own may give them; caches keep what they may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.filtersettings import DEFAULTS
from sites.optimise.filters.delivery import extend_cache, shard
from sites.optimise.page import Page, Resource
from sites.response import Response
from tests.facts import tells
from tests.unit.sites.optimise.pages import START, html_of, page, photo

IMAGE, SCRIPT = "<img src=i.png>", "<script src=a.js></script>"
FILES: dict[str, str | bytes] = {"i.png": photo("PNG", (8, 8)), "a.js": "a()"}


def sharded(made: Page) -> tuple[str, list[str]]:
    result, notes = shard(made, DEFAULTS)
    return html_of(result), [note.reason for note in notes]


def test_images_and_scripts_move() -> None:
    html, reasons = sharded(page(IMAGE + SCRIPT, FILES))
    assert html.count(".page.example/") == 2
    assert reasons == []


@pytest.mark.parametrize(
    ("source", "files", "facts"),
    [
        (SCRIPT, {"a.js": "import('./m.js')"}, ("script", "imports modules")),
        (SCRIPT, {"a.js": "document.currentScript.src"}, ("script", "script elements")),
        ("<script src=a.js integrity=sha256-x></script>", {}, ("another host", "allow", "CORS")),
        ("<img src=i.png crossorigin>", {}, ("another host", "allow", "CORS")),
        ("<img src=i.png srcset='j.png 2x'>", {}, ("image", "choice")),
        ("<script src=a.js type=module></script>", {}, ("module", "CORS")),
        (IMAGE, {"a.js": "c.getImageData(0, 0, 1, 1)"}, ("script", "pixels")),
    ],
)
def test_what_only_its_own_host_may_give_stays(
    source: str, files: dict[str, str], facts: tuple[str, ...]
) -> None:
    html, (reason,) = sharded(page(source, {**FILES, **files}))
    assert html == source
    assert tells([reason], *facts)


def test_what_a_server_keeps_to_its_origin_stays() -> None:
    made = page(IMAGE, FILES)
    kept = made.resources[START + "i.png"].with_header("Cross-Origin-Resource-Policy", "same-origin")
    assert sharded(made.with_resources([kept]))[0] == IMAGE


@pytest.mark.parametrize(
    ("embedder", "resource", "moves"),
    [
        ('require-corp; report-to="x"', None, False),
        ("require-corp", "same-site", True),
        ("credentialless", None, True),
        ("unsafe-none", None, True),
    ],
)
def test_a_document_that_asks_for_permission_gets_no_file_of_another_host_without(
    embedder: str, resource: str | None, *, moves: bool
) -> None:
    made = page(IMAGE, FILES)
    document = made.resources[START].with_header("Cross-Origin-Embedder-Policy", embedder)
    image = made.resources[START + "i.png"]
    allowed = image if resource is None else image.with_header("Cross-Origin-Resource-Policy", resource)
    html, reasons = sharded(made.with_resources([document, allowed]))
    assert (html != IMAGE) == moves
    assert [tells([reason], "Cross-Origin-Embedder-Policy") for reason in reasons] == [True] * (not moves)


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        (("Pragma", "no-cache"), True),
        (("vary", "Accept, *"), True),
        (("Vary", "Accept-Encoding"), False),
        (("Pragma", "public"), False),
    ],
)
def test_what_another_header_forbids_to_keep_stays(header: tuple[str, str], *, kept: bool) -> None:
    made = page(IMAGE, FILES)
    image = made.resources[START + "i.png"]
    image = replace(image, headers=(*image.headers, ("Cache-Control", "no-cache"), header))
    result, notes = extend_cache(made.with_resources([image]), DEFAULTS)
    year = f"max-age={DEFAULTS.cache_seconds}"
    assert result.resources[image.url].header("Cache-Control") == ("no-cache" if kept else year)
    assert result.resources[image.url].changed != kept
    assert [note.url for note in notes] == [image.url] * kept
    assert all(tells([note.reason], "another header forbids") for note in notes)
    assert result.resources[START + "a.js"].header("Cache-Control") == year


def test_what_must_not_be_changed_keeps_its_header() -> None:
    made = page(IMAGE, FILES)
    image = made.resources[START + "i.png"].with_header("Cache-Control", "max-age=60, no-transform")
    result, (note,) = extend_cache(made.with_resources([image]), DEFAULTS)
    assert result.resources[image.url] is image
    assert (note.url, tells([note.reason], "no-transform")) == (image.url, True)


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "[::1]"])
def test_below_an_ip_address_there_are_no_names(host: str) -> None:
    start = f"http://{host}/"
    responses = [
        Response(start, 200, (("Content-Type", "text/html"),), IMAGE.encode()),
        Response(f"{start}i.png", 200, (("Content-Type", "image/png"),), photo("PNG", (8, 8))),
    ]
    made, notes = shard(Page(start, {each.url: Resource.of(each) for each in responses}), DEFAULTS)
    assert made.resources[start].body.decode() == IMAGE
    (note,) = notes
    assert "IP address" in note.reason
