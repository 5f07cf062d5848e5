"""The lengths of React's texts follow the links that are moved in them, as another reader of the stream finds."""

from __future__ import annotations

import json
import random
import re
import time

import pytest

from sites.rewrite import exchange_scheme_names, rewrite_links

ESCAPES = {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029"}
NEXT = (
    '<script>self.__next_f.push([1,{}])</script>\n<a href="https://between.example/">',
    r"push\((\[1,.*?\])\)",
)
RSC = "<script>(self.__FLIGHT_DATA||=[]).push({})</script>", r'push\((".*?")\)</'
FILLING = (
    "https://a.example/x ",
    "https:\\/\\/a.example ",
    '<a href="https://b.example:443/">',
    " wss://c.example ",
    "https: ",
    "'https:'",
    "é",
    "漢字",
    "😀",
    "\n",
    '"',
    "\\",
    "\u2028",
    "&amp;",
    "3:T5,hello",
    "plain text of some length, ",
)


def row(number: int, text: str) -> str:
    return f"{number:x}:T{len(text.encode()):x},{text}"


def moved(text: str) -> str:
    return (
        text.replace(":443", "")
        .replace("https:/", "http:/")
        .replace("https:\\", "http:\\")
        .replace("wss", "ws")
    )


def stream(texts: list[str]) -> str:
    """Rows as React writes them, of which those of one line hold links, too."""
    lines = ('0:["$","a",null,{"href":"https://l.example/"}]\n', ':HL["https://l.example/x.css","style"]\n')
    return "".join(lines[number % 2] + row(number, text) for number, text in enumerate(texts)) + '5:"end"\n'


def document(content: str, cuts: list[int], form: tuple[str, str] = NEXT) -> bytes:
    """A document with the stream in strings that end at these places."""
    parts = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    strings = (json.dumps(part, ensure_ascii=False) for part in parts)
    escaped = ("".join(ESCAPES.get(character, character) for character in string) for string in strings)
    pushes = (form[0].format(text) for text in escaped)
    return f"<!doctype html><p>https://p.example/ {''.join(pushes)}</html>".encode()


def texts_of(content: bytes) -> list[str]:
    """The long texts of a stream that is whole."""
    texts = []
    while content:
        head, _, rest = content.partition(b":")
        assert re.fullmatch(rb"[0-9a-f]*", head), content[:80]
        if rest.startswith(b"T"):
            length, _, rest = rest[1:].partition(b",")
            size = int(length, 16)
            assert len(rest) >= size
            texts.append(rest[:size].decode())
            content = rest[size:]
        else:
            line, ended, content = rest.partition(b"\n")
            assert ended
            json.loads(line.removeprefix(b"HL"))
    return texts


def read(document: bytes, form: tuple[str, str] = NEXT) -> list[str]:
    pushed = [json.loads(found) for found in re.findall(form[1], document.decode())]
    return texts_of("".join(push if isinstance(push, str) else push[1] for push in pushed).encode())


def test_the_length_of_a_text_follows_its_links() -> None:
    content = row(16, 'é "https://a.example/" \n<https://b.example:443/>') + '11:"https://c.example/"\n'
    page = document(content, [])
    assert b"10:T31," in page
    http, count = rewrite_links(page, "http", ())
    assert b"10:T2b," in http
    assert count == 5
    assert read(http) == ['é "http://a.example/" \n<http://b.example/>']
    back, count = rewrite_links(http, "https", ())
    assert back == page.replace(b":443", b"").replace(b"T31", b"T2d")
    assert count == 5


@pytest.mark.parametrize("form", [NEXT, RSC])
@pytest.mark.parametrize("seed", range(40))
def test_streams_stay_whole_wherever_their_strings_end(seed: int, form: tuple[str, str]) -> None:
    chance = random.Random(seed)  # noqa: S311
    texts = ["".join(chance.choices(FILLING, k=chance.randrange(90))) for _ in range(chance.randrange(1, 9))]
    content = stream(texts)
    links = re.finditer(r"(?:https|wss):[\\/]{2,4}(?:b.example:443)?", content)
    within = {at for link in links for at in range(link.start() + 1, link.end())}  # such a link is not found
    places = sorted(set(range(len(content))) - within)
    page = document(content, sorted(chance.sample(places, k=chance.randrange(20))), form)
    assert read(page, form) == texts
    http, _ = rewrite_links(page, "http", ())
    assert read(http, form) == [moved(text) for text in texts]
    exchanged, _ = exchange_scheme_names(http)
    assert read(exchanged, form) == [moved(text) for text in texts]
    back, _ = rewrite_links(http, "https", ())
    assert read(back, form) == [text.replace(":443", "") for text in texts]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_stream_without_a_document(scheme: str) -> None:
    texts = ["https://a.example/ \\u003c é", "", "http://b.example " * 100, '\n"\\']
    other = "https" if scheme == "http" else "http"
    moved_there, _ = rewrite_links(stream(texts).encode(), scheme, ())
    assert texts_of(moved_there) == [text.replace(f"{other}:/", f"{scheme}:/") for text in texts]


def test_escapes_of_any_character_count_as_its_bytes() -> None:
    """Of other writers than Next.js."""
    written = (
        b'__next_f.push([1,"1:T%x,\\ud83d\\ude00\\u00e9\\u20AC\\/\\t\\\\https:\\/\\/a.example2:T8,https://"])'
    )
    size = len("😀é€/\t\\https://a.example".encode())
    expected = written.replace(b"https", b"http").replace(b"T8", b"T7")
    assert rewrite_links(written % size, "http", ())[0] == expected % (size - 1)


@pytest.mark.parametrize(("scheme", "other"), [("http", "https"), ("https", "http")])
@pytest.mark.parametrize("length", [0xFFF, 0x1000])
def test_digits_that_two_strings_share_and_one_more_or_less(scheme: str, other: str, length: int) -> None:
    text = f"{other}://a.example/".ljust(length, "x")
    for cut in range(8):
        page, _ = rewrite_links(document(row(1, text) + '2:"end"\n', [cut]), scheme, ())
        assert read(page) == [text.replace(other, scheme)]


@pytest.mark.parametrize(
    "content",
    [
        "1:T10,https://a.exa",  # cut off
        "M1:{}\n2:T13,https://a.example/x",  # of an earlier React
        "1:T0,2:https://a.example/x\n",
        "",
    ],
)
def test_what_cannot_be_read_is_left_alone(content: str) -> None:
    page = document(content, [])
    assert rewrite_links(page, "http", ())[0] == page.replace(b"https:", b"http:")


def test_binary_data_ends_what_is_read() -> None:
    text, binary = "https://a.example/", '<script>self.__next_f.push([3,"AAAA"])</script>'
    head, tail = (document(row(number, text) + '2:"end"\n', []).decode() for number in (1, 2))
    page = (head + binary + tail).encode()
    moved_there, _ = rewrite_links(page, "http", ())
    assert moved_there == page.replace(b"https:", b"http:").replace(b"1:T12,", b"1:T11,")


def test_rows_of_other_kinds_with_a_length_are_passed() -> None:
    content = '1:S"react.suspense"\n2:A3,\nT,3:I["x"]\n:T12,https://a.example/'
    assert rewrite_links(content.encode(), "http", ())[0] == (
        content.replace("https", "http").replace("T12", "T11").encode()
    )


def test_names_of_schemes_are_exchanged_outside_of_long_texts() -> None:
    page = document(row(1, "p == 'http:'") + "2:\"'http:'\"\n", [8]) + b"<script>p == 'http:'</script>"
    exchanged, count = exchange_scheme_names(page)
    assert count == 2
    assert exchanged == page.replace(b"'http:'\\\"", b"'https:'\\\"").replace(b"'http:'<", b"'https:'<")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "unit",
    [
        b'__next_f.push([1,"',
        b'__next_f.push([1,"https://',
        b'"])</script><script>self.__next_f.push([1,"1:T9,https://"',
        b"1:T8,https://",
        b"a:https://\n",
        b'\\"https://',
    ],
)
def test_a_stream_takes_time_linear_in_its_length(unit: bytes) -> None:
    def seconds(size: int) -> float:
        body = b'__next_f.push([1,"' + unit * (size // len(unit)) + b'"'
        before = time.process_time()
        for part in (body, body[18:]):
            rewrite_links(part, "http", ())
            exchange_scheme_names(part)
        return time.process_time() - before

    short, long = (min(seconds(size) for _ in range(3)) for size in (20_000, 320_000))
    assert long < 80 * max(short, 0.002)
