"""Where browsers find character sets; the text of a HAR is stored so that they read it again, whatever label it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from sites.charset import (
    HEAD_CHARACTERS,
    PRESCAN_BYTES,
    charset_of,
    charset_within,
    encoded,
    still_declared,
    text_of,
    with_charset,
)
from sites.importers import import_recording
from sites.mediatype import HTML_TYPES
from sites.response import Response
from tests.facts import tells
from tests.unit.sites.importers.recordings import PAGE, entry, har, saved

META = "<meta charset={}><p>{}"


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


@pytest.mark.parametrize(
    ("label", "text", "body"),
    [
        ("iso-8859-1", "é€—", b"\xe9\x80\x97"),  # windows-1252, and so are the next two
        ("us-ascii", "…\x81", b"\x85\x81"),
        ("Latin1", "é", b"\xe9"),
        ("iso-8859-9", "ğ€", b"\xf0\x80"),
        ("tis-620", "ก€", b"\xa1\x80"),
        ("windows-874", "ก", b"\xa1"),
        ("shift_jis", "①髙~\\", b"\x87@\xee\xe0~\\"),
        ("x-sjis", "あ", b"\x82\xa0"),
        ("windows-31j", "あ", b"\x82\xa0"),
        ("gb2312", "镕€", b"\xe9F\xa2\xe3"),
        ("x-gbk", "镕", b"\xe9F"),
        ("gb18030", "😀", "😀".encode("gb18030")),
        ("big5", "中", b"\xa4\xa4"),
        ("ks_c_5601-1987", "똠", b"\x8cc"),
        ("x-user-defined", "\uf7e9", b"\xe9"),
        ("iso-8859-8-i", "א", b"\xe0"),
        ("iso-2022-jp", "あ", b"\x1b$B$\x22\x1b(B"),
        ("koi8-u", "ї", b"\xa7"),
        ("utf-16", "é", b"\xe9\x00"),
        ("utf-16be", "é", b"\x00\xe9"),
    ],
)
def test_a_label_means_what_the_encoding_standard_says(label: str, text: str, body: bytes) -> None:
    made = encoded(text, "text/html", f"text/html; charset={label}", utf_8_around=False)
    assert (made.body, made.charset) == (body, "")


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("iso-8859-1", "あ"),
        ("shift_jis", "\u2212〜"),  # Python writes them; browsers read others
        ("euc-jp", "‖"),
        ("big5", "￥¥"),
        ("gbk", "\u1e3f"),
        ("iso-2022-jp", "\x1b"),
        ("windows-1255", "\u05ba"),
        ("iso-2022-kr", "\ufffd"),  # "replacement": browsers show nothing of it
        ("no-such-label", "é"),
    ],
)
def test_what_does_not_fit_is_utf_8_and_the_header_says_so(label: str, text: str) -> None:
    made = encoded(text, "text/html", f"text/html; charset={label}", utf_8_around=True)
    assert (made.body, made.charset) == (text.encode(), "utf-8")


@pytest.mark.parametrize(
    ("mime", "text", "charset"),
    [
        ("text/html", META.format("koi8-r", "ж"), "koi8-r"),
        ("text/html", META.format("utf-16", "ж"), "utf-8"),
        ("text/html", META.format("x-user-defined", "é"), "windows-1252"),
        (
            "text/html",
            '<meta name=k content="charset=koi8-r">' + META.format("iso-8859-5", "ж"),
            "iso-8859-5",
        ),
        (
            "text/html",
            "<meta content='text/html; charset=koi8-r' http-equiv=content-type>ж",
            "koi8-r",
        ),
        ("text/html", "<!-- <meta charset=koi8-r> -->" + META.format("windows-1251", "ж"), "windows-1251"),
        ("text/css", '@charset "windows-1251"; i { content: "ж" }', "windows-1251"),
        ("image/svg+xml", "<?xml version='1.0' encoding='koi8-r'?><svg>ж</svg>", "koi8-r"),
        ("text/html", "\ufeff" + META.format("koi8-r", "ж"), "utf-8"),
    ],
)
def test_a_label_within_the_text_is_heeded(mime: str, text: str, charset: str) -> None:
    made = encoded(text, mime, mime, utf_8_around=False)
    assert made.charset == ""
    assert made.body.decode(charset) == text
    kind = {"text/css": "css", "text/html": "html"}.get(mime)
    if kind and charset != "windows-1252":  # as filters read it
        again = text_of(made.body, mime, kind)
        assert again is not None
        assert (again.encoding, again.text) == (charset, text.removeprefix("\ufeff"))


LATE = "x" * 2000


@pytest.mark.parametrize(
    ("head", "charset"),
    [
        (f"<title>{LATE}</title>", "koi8-r"),
        (f"<!-- <body> {LATE} --><link rel=x><base href=y><script>'<body>' < '<meta charset=big5>'</script>", "koi8-r"),
        (f"<meta charset=no-such-label><STYLE media='>'>{LATE}</style >", "koi8-r"),
        (f"<meta name=x content='<body>{LATE}'>", "koi8-r"),
        (f"<body>{LATE}", None),
        (f"</head>{LATE}", None),
        (f"<title></title><p>{LATE}", None),
        (f"<title>{LATE}", None),
        (f"<!-- {LATE}", None),
    ],
)  # fmt: skip
def test_a_meta_that_comes_late_counts_in_the_head_alone(head: str, charset: str | None) -> None:
    body = f"<!doctype html><html lang=ru><head>\n{head}{META.format('koi8-r', 'ж')}".encode("koi8-r")
    found = text_of(body, "text/html", "html")
    assert (found.encoding if found else None) == charset
    assert found is None or found.text.endswith("ж")


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("windows-1251", "привет"),
        ("euc-kr", "안녕"),
        ("gbk", "你好"),
        ("euc-jp", "日本"),
        ("utf-8", "é"),  # which Chromium does not detect
        ("windows-1252", "é"),
    ],
)
def test_what_encoding_a_document_has_that_names_none_is_not_known(charset: str, text: str) -> None:
    body = f"<p>{text}".encode(charset)
    assert text_of(body, "text/html", "html") is None
    for kind in ("css", "javascript"):
        inherited = text_of(body, f"text/{kind}", kind, charset)
        assert inherited is not None
        assert inherited.text == f"<p>{text}"
    plain = text_of(b"<p>a", "text/html", "html")
    assert plain is not None
    assert plain.text == "<p>a"


def test_a_meta_need_not_come_earlier_than_it_did() -> None:
    early = META.format("koi8-r", "ж").encode("koi8-r")
    late, later = (f"<title>{'x' * count}</title>".encode() + early for count in (2000, HEAD_CHARACTERS))
    text = text_of(early, "text/html", "html")
    assert text is not None
    changes = [(early, early), (early, late), (late, late), (late, early), (late, later)]
    told = [still_declared(text, before, after) for before, after in changes]
    assert told == [True, False, True, True, False]


def test_a_meta_that_comes_late_is_named_in_the_header() -> None:
    text = f"<title>{'x' * 2000}</title>" + META.format("koi8-r", "ж")
    assert encoded(text, "text/html", None, utf_8_around=False).charset == "koi8-r"
    assert (
        encoded(META.format("koi8-r", "ж" + " " * 2000), "text/html", None, utf_8_around=False).charset == ""
    )


def test_what_names_nothing_is_utf_8_where_a_browser_takes_it_for_that() -> None:
    for mime, text, around, charset in (
        ("text/html", "é", True, "utf-8"),
        ("text/html", "e", False, ""),
        ("text/javascript", "é", True, ""),
        ("text/javascript", "é", False, "utf-8"),
        ("text/css", "é", False, "utf-8"),
        ("application/json", "é", False, ""),
        ("image/svg+xml", "é", False, ""),
    ):
        made = encoded(text, mime, mime, utf_8_around=around)
        assert (made.body, made.charset) == (text.encode(), charset), mime


def test_the_header_that_is_served_names_it(tmp_path: Path) -> None:
    def imported(name: str, *entries: dict[str, object]) -> list[Response]:
        path = saved(tmp_path, har(*entries), name)
        archive = import_recording(path, tmp_path / "archives", name)
        notes.append(" | ".join(archive.notes))
        return list(archive.responses())

    notes: list[str] = []
    script = entry(f"{PAGE}s.js", "'é'", "text/javascript")
    page, other = imported("latin", entry(text="é", mime="text/html; x=y; charset=iso-2022-kr"), script)
    assert page.header("Content-Type") == "text/html; x=y; charset=utf-8"
    assert other.header("Content-Type") == "text/javascript; charset=utf-8"
    assert tells(notes[:1], "character set", f"(utf-8): 2 ({PAGE} {PAGE}s.js)")
    page, other = imported("utf-8", entry(text=META.format("utf-8", "é")), script)
    assert (page.mime in HTML_TYPES, other.header("Content-Type")) == (True, "text/javascript")
    assert "character set" not in notes[1]


def test_half_a_character_and_a_broken_header_raise_nothing() -> None:
    assert (
        encoded("\ud800", "text/html", "text/html; charset=gbk", utf_8_around=False).body.decode("gb18030")
        == "\ufffd"
    )
    assert with_charset("text/html;;charset", "utf-8") == "text/html;; charset=utf-8"
