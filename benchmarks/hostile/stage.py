"""The page and the studies that parts are struck in, and the parts, known by their command lines."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image

from benchmarks.hostile.site import START, html, text
from harness.outcome import Outcome
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About

NAME = "struck"
TIMEOUT_S = 8
PICTURES, SIDE = 12, 80  # 19 kB each: together 0.9 s on the link
LEVELS = 10  # of style sheets that import the next: a round trip each
DOWN_MBPS, RTT_MS = 2, 50

BROWSER_DIED = {Outcome.TESTBED_FAILED: ("did not start", "browser died")}
# A page that spins looks like a renderer that is stopped; a stopped browser can be told from both.
NOT_ANSWERING = {
    Outcome.PAGE_TIMEOUT: ("",),
    Outcome.PAGE_ERROR: ("",),
    Outcome.TESTBED_FAILED: (
        "did not start",
        "browser is stopped",
        "page loaded: the browser for",
        "no browser",
        "no end of the browser",
    ),
}


def blamed(*words: str) -> dict[Outcome, tuple[str, ...]]:
    """The testbed failed, and the reason names the part by one of these words."""
    return {Outcome.TESTBED_FAILED: words}


@dataclass(frozen=True)
class Part:
    """One kind of part: `found` tells its processes by their command lines.

    `study` are the lines of the study it works in. `killed` and `stopped` are the outcomes that blame it, each with
    words of which the reason must hold one. A part that `comes` with each trial is struck in the course of its life.
    """

    name: str
    found: Callable[[Sequence[str]], bool]
    study: Mapping[str, str]
    killed: Mapping[Outcome, tuple[str, ...]]
    stopped: Mapping[Outcome, tuple[str, ...]]
    comes: bool = False


def program(name: str) -> Callable[[Sequence[str]], bool]:
    return lambda words: Path(words[0].split(": ")[0]).name == name


def chromium(kind: str) -> Callable[[Sequence[str]], bool]:
    """A process of Chromium by its --type; "" is the browser itself."""

    def found(words: Sequence[str]) -> bool:
        line = " ".join(words)
        if "chromium" not in Path(words[0].split(" ")[0]).name or (
            "--user-data-dir" not in line and not kind
        ):
            return False
        return f"--type={kind}" in line if kind else "--type=" not in line

    return found


def firefox(kind: str) -> Callable[[Sequence[str]], bool]:
    """A process of Firefox: "tab", which holds a page or is in reserve for one; "" is the browser itself."""

    def found(words: Sequence[str]) -> bool:
        return words[-1] == kind if "-contentproc" in words else not kind and "--marionette" in words

    return found


def module(name: str) -> Callable[[Sequence[str]], bool]:
    return lambda words: f"harness.engines.{name}" in words


def holding(text: str) -> Callable[[Sequence[str]], bool]:
    return lambda words: "node" in Path(words[0]).name and any(text in word for word in words)


PLAYWRIGHT = {"protocols": '["http1"]', "drivers": '["playwright"]'}
SELENIUM = {"protocols": '["http1"]', "drivers": '["selenium"]'}
QTWEBKIT = {"protocols": '["http1"]', "engine": '"qtwebkit"'}
FIREFOX = {"protocols": '["http1"]', "engine": '"firefox"'}
WEBKIT = {"protocols": '["http1"]', "engine": '"webkit"'}
SPDY = {"protocols": '["spdy-plain"]', "engine": '"qtwebkit"'}


def part(
    name: str,
    found: Callable[[Sequence[str]], bool],
    study: Mapping[str, str],
    *words: str,
    comes: bool = False,
) -> Part:
    return Part(name, found, study, blamed(*words), blamed(*words), comes)


def browser(name: str, found: Callable[[Sequence[str]], bool], study: Mapping[str, str]) -> Part:
    return Part(name, found, study, BROWSER_DIED, NOT_ANSWERING, comes=True)


PARTS = {
    each.name: each
    for each in (
        part("caddy", program("caddy"), PLAYWRIGHT, "caddy"),
        part("nginx", program("nginx"), {**PLAYWRIGHT, "server": '"nginx"'}, "nginx"),
        part("apache", program("apache2"), {**SELENIUM, "server": '"apache"'}, "apache2"),
        part("gateway", holding("gateway"), QTWEBKIT, "gateway", "node"),
        part("dnsmasq", program("dnsmasq"), PLAYWRIGHT, "dnsmasq"),
        part("linkem", program("linkem"), SELENIUM, "linkem", comes=True),
        part("chromedriver", program("chromedriver"), SELENIUM, "chromedriver", "browser's driver"),
        part("playwright", holding("playwright"), PLAYWRIGHT, "playwright", "Playwright", "browser's driver"),
        part("hop", module("hop"), SPDY, "hop", comes=True),
        browser("chromium", chromium(""), PLAYWRIGHT),
        browser("chromium-selenium", chromium(""), SELENIUM),
        browser("renderer", chromium("renderer"), PLAYWRIGHT),
        browser("renderer-selenium", chromium("renderer"), SELENIUM),
        browser("qtwebkit", module("qtwebkit.engine"), QTWEBKIT),
        browser("firefox", firefox(""), FIREFOX),
        browser("firefox-page", firefox("tab"), FIREFOX),
        browser("webkit", module("webkit.program"), WEBKIT),
        browser("webkit-page", program("WebKitWebProcess"), WEBKIT),
        part("weston", program("weston"), WEBKIT, "display", comes=True),
    )
}


def write_page(root: Path) -> None:
    """The archive that is loaded in every study here."""
    chance, responses = random.Random(2), []  # noqa: S311
    for number in range(PICTURES):
        file = BytesIO()
        Image.frombytes("RGB", (SIDE, SIDE), chance.randbytes(3 * SIDE * SIDE)).save(file, "PNG")
        responses.append(
            Response(f"{START}p{number}.png", 200, (("Content-Type", "image/png"),), file.getvalue())
        )
    for level in range(LEVELS):
        following = f'@import "/s{level + 1}.css";' if level + 1 < LEVELS else ""
        responses.append(text(f"{START}s{level}.css", f"{following}p{{margin:{level}px}}", "text/css"))
    body = "".join(f'<img src="/p{number}.png">' for number in range(PICTURES))
    page = text(START, html('<link rel="stylesheet" href="/s0.css">', body, picture=False))
    write_archive(root, NAME, About(START, "bench", "bench", ()), [page, *responses])


def shortest_ms() -> float:
    """What the page takes at the least: the bytes of its pictures on the link."""
    return PICTURES * 3 * SIDE * SIDE * 8 / (DOWN_MBPS * 1000)


def study(part_study: Mapping[str, str], trials: int) -> str:
    """The text of a study for a part: one condition, so many trials, and as many records."""
    lines = {
        "name": f'"{NAME}"',
        "pages": f'["{NAME}"]',
        "trials": f"{{least = {trials}, attempts = 1}}",
        "aa": "false",
        "seed": "1",
        "timeout_s": str(TIMEOUT_S),
    }
    keys = "\n".join(f"{key} = {value}" for key, value in {**lines, **part_study}.items())
    return f"{keys}\n[[links]]\ndown_mbps = {DOWN_MBPS}\nrtt_ms = [{RTT_MS}]\n"
