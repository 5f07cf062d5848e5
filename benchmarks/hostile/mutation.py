"""Mutations by a seed: of text, as a typing error or a malicious hand would make them, and of bytes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

ODD = (
    "0", "-1", "1e308", "-1e-308", "inf", "nan", "99999999999999999999999999", "1_000", "0x7fffffffffffffff", "true",
    '""', '"\\u0000"', '"' + "x" * 100_000 + '"', "[]", "{}", '[["h2"]]', "{a = 1}", "1979-05-27T07:32:00Z",
    '"../../etc"',    '"[bold red]markup[/]"', '"\\u001b[31m"', '"<script>alert(1)</script>"', '"page\\nline"',
    '"\\U0001F600"', "'''", "=",
)  # fmt: skip
TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_][\w.-]*|\d[\w.]*|[\[\]{}=,]')

TextMutation = Callable[[str, random.Random], str]


def flipped(data: bytes, chance: random.Random) -> bytes:
    """Some bytes of it are others."""
    made = bytearray(data or b"\0")
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def repeated(data: bytes, chance: random.Random) -> bytes:
    """A piece of it stands there twice, or is missing."""
    start = chance.randrange(len(data) + 1)
    end = min(len(data), start + chance.randrange(1, 2000))
    return data[:end] + data[start:] if chance.random() < 0.5 else data[:start] + data[end:]


def token_replaced(text: str, chance: random.Random) -> str:
    found = list(TOKEN.finditer(text))
    if not found:
        return text
    one = chance.choice(found)
    return text[: one.start()] + chance.choice(ODD) + text[one.end() :]


def tokens_swapped(text: str, chance: random.Random) -> str:
    found = list(TOKEN.finditer(text))
    if len(found) < 2:
        return text
    first, second = sorted(chance.sample(found, 2), key=lambda each: each.start())
    return (
        text[: first.start()]
        + second[0]
        + text[first.end() : second.start()]
        + first[0]
        + text[second.end() :]
    )


def value_replaced(text: str, chance: random.Random) -> str:
    """The value of a key is another one."""
    found = list(re.finditer(r"(?m)^[\w ]+= *(.+)$", text))
    if not found:
        return text
    one = chance.choice(found)
    return text[: one.start(1)] + chance.choice(ODD) + text[one.end(1) :]


def key_added(text: str, chance: random.Random) -> str:
    key = chance.choice(
        ("unknown", "nam", "pages", "tcp", '"a b"', "links.x", "[links]", "x" * 10_000, '"\\u001b[2J"')
    )
    line = f"{key} = {chance.choice(ODD)}\n" if not key.startswith("[") else f"{key}\n"
    return line + text if chance.random() < 0.5 else text + "\n" + line


def nested(text: str, chance: random.Random) -> str:
    depth = chance.choice((50, 2000, 200_000))
    return (
        f"deep = {'[' * depth}{']' * depth}\n{text}"
        if chance.random() < 0.5
        else f"{text}\nd = {'{a=' * depth}1{'}' * depth}"
    )


def bytes_flipped(text: str, chance: random.Random) -> str:
    return flipped(text.encode(), chance).decode("latin-1")


def line_moved(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True) or [text]
    line = lines.pop(chance.randrange(len(lines)))
    for _ in range(chance.choice((0, 1, 2))):
        lines.insert(chance.randrange(len(lines) + 1), line)
    return "".join(lines)


TEXT_MUTATIONS: tuple[TextMutation, ...] = (
    token_replaced, tokens_swapped, value_replaced, value_replaced, key_added, nested, bytes_flipped, line_moved,
)  # fmt: skip


def mutated_text(text: str, chance: random.Random) -> str:
    """One to three mutations, one after the other."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        text = chance.choice(TEXT_MUTATIONS)(text, chance)
    return text
