"""Types and character sets, as headers and documents name them."""

from __future__ import annotations

import pytest

from sites.mediatype import PRESCAN_BYTES, charset_of, charset_within, is_text


def test_links_are_looked_for_in_text_alone() -> None:
    text_types = ["text/html", "text/css", "application/javascript", "application/json", "image/svg+xml"]
    text_types += [
        "application/manifest+json",
        "application/ld+json",
        "text/xml",
        "text/javascript",
        "text/plain",
    ]
    assert all(is_text(mime) for mime in text_types)
    assert not any(is_text(mime) for mime in ("", "image/png", "font/woff2", "application/octet-stream"))


@pytest.mark.parametrize(
    ("header", "charset"),
    [
        ("text/html; charset=utf-8", "utf-8"),
        ('text/html;charset="ISO-8859-1"; x=y', "ISO-8859-1"),
        ("text/html; Charset = 'windows-1252'", "windows-1252"),
        ("text/html;charset=iso_8859-1:1987;q=1", "iso_8859-1:1987"),
        ("text/html", None),
        ("text/html; charset=", None),
        (None, None),
    ],
)
def test_a_header_names_a_character_set(header: str | None, charset: str | None) -> None:
    assert charset_of(header) == charset


@pytest.mark.parametrize(
    ("document", "charset"),
    [
        ("<meta charset=utf-8>", "utf-8"),
        ("<META\nhttp-equiv='Content-Type' content='text/html; charset=Shift_JIS'>", "Shift_JIS"),
        ('<meta name="a"><meta/charset="x-sjis"/>', "x-sjis"),
        ("<!-- <meta charset=koi8-r> --><meta charset=utf-8>", "utf-8"),
        ("<!-- <meta charset=koi8-r> -->", None),
        ("<!-- not ended <meta charset=koi8-r>", None),
        ("<metadata charset=utf-8>", None),
        ("<meta name=a content='charset=koi8-r' data-charset=koi8-r><meta charset=utf-8>", "utf-8"),
        (
            "<meta content='>charset=koi8-r'><meta content='x; charset=x-sjis' http-equiv=content-type>",
            "x-sjis",
        ),
        (" " * PRESCAN_BYTES + "<meta charset=utf-8>", None),
    ],
)
def test_a_document_names_it_where_browsers_look(document: str, charset: str | None) -> None:
    found = charset_within(document)
    assert (found[1] if found else None) == charset
    assert found is None or document[: found.end()].endswith(str(charset))
