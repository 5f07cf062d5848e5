"""Pages that become 600 MB, or more than any picture, once the browser has them: what dies of that is the page's."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import brotli  # type: ignore[import-untyped, unused-ignore]  # has no types
import zstandard

from benchmarks.hostile.site import ANY, START, Page, html, made_of, scripted, text, weight
from harness.model.engine import speaking
from harness.model.protocol import Protocol
from sites.response import Response

BOMB_BYTES, PIECE = 600_000_000, b" " * 1_000_000
SIDE = 60_000  # of a picture, in pixels: 14 GB

# How each coding begins; `compress` or `process` takes a piece, `flush` or `finish` ends it.
CODINGS: dict[str, Callable[[], Any]] = {
    "gzip": partial(zlib.compressobj, 1, zlib.DEFLATED, 31),
    "deflate": partial(zlib.compressobj, 1),
    "br": partial(brotli.Compressor, quality=1),
    "zstd": lambda: zstandard.ZstdCompressor(level=1).compressobj(),
}

SECURE: Mapping[str, Any] = {"engines": frozenset(speaking(Protocol.H2)), "protocol": Protocol.H2}

SCRIPTS = {
    "canvas": """window.kept = []; for (let i = 0; i < 10; i++) { const c = document.createElement('canvas');
      c.width = c.height = 4000; c.getContext('2d').fillRect(0, 0, 4000, 4000); kept.push(c); }""",
    "dom": """addEventListener('DOMContentLoaded', () => {
      for (let i = 0; i < 3e6; i++) document.body.appendChild(document.createElement('p')).title = i; });""",
    "arrays": "window.kept = []; for (let i = 0; i < 75; i++) kept.push(new Array(1e6).fill(0.5 + i));",
    "objects": "window.kept = []; for (let i = 0; i < 6e6; i++) kept.push({ i: i, text: 'x' + i });",
    "webgl": """const c = document.createElement('canvas'), g = c.getContext('webgl'); window.kept = g;
      if (g) for (let i = 0; i < 40; i++) { const t = g.createTexture(); g.bindTexture(g.TEXTURE_2D, t);
        g.texImage2D(g.TEXTURE_2D, 0, g.RGBA, 2000, 2000, 0, g.RGBA, g.UNSIGNED_BYTE, new Uint8Array(16e6)); }""",
    "webgl-shader": """const g = document.createElement('canvas').getContext('webgl');
      if (g) { const s = g.createShader(g.FRAGMENT_SHADER); g.shaderSource(s, 'precision highp float; void main() {' +
        'for (int i = 0; i < 100000; i++) for (int j = 0; j < 100000; j++) gl_FragColor += vec4(sin(float(i * j)));}');
        g.compileShader(s); g.getShaderParameter(s, g.COMPILE_STATUS); }""",
    "blob": "window.kept = []; for (let i = 0; i < 12; i++) kept.push(new Blob([new Uint8Array(5e7).fill(i)]));",
    "audio": """try { window.kept = []; for (let i = 0; i < 15; i++)
      kept.push(new AudioBuffer({ length: 1e7, sampleRate: 44100 })); } catch (error) {}""",
    "wasm-memory": """if (window.WebAssembly) { const m = new WebAssembly.Memory({ initial: 9600 });
      new Uint8Array(m.buffer).fill(1); window.kept = m; }""",
}

HEADS = {
    "css-animation": """<style>@keyframes a { to { width: 9e9px; filter: blur(9999px) } }
      * { animation: a 1ms infinite; box-shadow: 0 0 9999px 9999px }</style>""",
    "css-variables": "<style>:root{--a0:xxxxxxxxxx;"
    + "".join(f"--a{n}:var(--a{n - 1})var(--a{n - 1});" for n in range(1, 30))
    + "}p{content:var(--a29)}</style>",
    "css-imports": '<link rel="stylesheet" href="/again.css">',
    "css-counters": "<style>p::before{content:counters(c, '%s')}p{counter-increment:c 999999999}</style>"
    % ("x" * 100_000),
    "css-grid": "<style>body{display:grid;grid-template-columns:repeat(10000000,1px);"
    "grid-template-rows:repeat(10000000,1px)}</style>",
    "css-gradient": "<style>body{height:9e7px;background:"
    + ",".join(["repeating-conic-gradient(red 0 1e-9deg,blue 0 2e-9deg)"] * 500)
    + "}</style>",
    "svg-use": "",
}


def coded(coding: str) -> bytes:
    """600 MB of one piece again and again."""
    coder = CODINGS[coding]()
    add = coder.process if coding == "br" else coder.compress
    end = coder.finish if coding == "br" else coder.flush
    return b"".join([*(add(PIECE) for _ in range(BOMB_BYTES // len(PIECE))), end()])


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def huge_picture() -> bytes:
    """A PNG of 60,000 x 60,000 pixels, all of one colour: 450 MB of bits in half a MB."""
    rows = zlib.compressobj(9)
    row = b"\0" * (1 + SIDE // 8)
    data = b"".join([*(rows.compress(row) for _ in range(SIDE)), rows.flush()])
    head = SIDE.to_bytes(4, "big") * 2 + b"\x01\0\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def laughs() -> str:
    """An SVG whose parts use each other twice, thirty levels deep."""
    levels = "".join(f'<g id="g{n}"><use href="#g{n - 1}"/><use href="#g{n - 1}"/></g>' for n in range(1, 30))
    return f'<svg width="9" height="9"><g id="g0"><rect width="1" height="1"/></g>{levels}</svg>'


def codings() -> Iterator[Page]:
    """The document itself, and a script and a style sheet of the page, in each coding."""
    for coding in CODINGS:
        body = coded(coding)
        made = [Page(f"bomb-{coding}", (text(START, body, Content_Encoding=coding), weight()), ANY)]
        for kind, name, tag in (
            ("text/javascript", "s.js", '<script src="/s.js"></script>'),
            ("text/css", "s.css", '<link rel="stylesheet" href="/s.css">'),
        ):
            object_ = text(START + name, body, kind, Content_Encoding=coding)
            made.append(made_of(f"bomb-{coding}-{name[2:]}", tag, others=[object_]))
        for page in made:  # over plain http no browser takes the newer codings
            yield replace(page, **SECURE) if coding in ("br", "zstd") else page


def pages() -> list[Page]:
    again = text(START + "again.css", '@import "/again.css?x";@import "/again.css?y";', "text/css")
    picture = Response(START + "huge.png", 200, (("Content-Type", "image/png"),), huge_picture())
    return [
        *codings(),
        *(scripted(f"bomb-{name}", script) for name, script in SCRIPTS.items()),
        *(
            made_of(f"bomb-{name}", head, laughs() if name == "svg-use" else "<p>" * 50, [again])
            for name, head in HEADS.items()
        ),
        Page("bomb-picture", (text(START, html(body='<img src="/huge.png">')), weight(), picture)),
    ]
