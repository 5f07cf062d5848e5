"""Compression while sending, by every server that can: what curl gets, and what it does to a load in the browser."""

from __future__ import annotations

from functools import partial

import pytest

from harness.errors import Outcome
from harness.lab.lab import ServedPart, opened
from harness.model.condition import CODINGS, DYNAMIC, Compression
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from harness.model.settings import Replay, TcpSettings
from harness.records import Record
from harness.study.rules import ABILITIES, DEFAULT_SERVER
from harness.study.serverfile import NamedServer
from harness.study.study import EngineSetup
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import BrowserLab
from sites.certificates import Authority
from sites.coding import decode, encode
from sites.materialise import materialise
from sites.response import Response
from tests.system.conftest import condition, inside, picture, small_site, trial
from tests.system.serverobserver import TLS, Answer, Observer, served
from tests.system.serverrecording import HTML, SITE, site_of

pytestmark = pytest.mark.side_by_side

CODERS = [(server, kind) for server, ability in ABILITIES.items() for kind in ability.coding]
WORDS = [f"word{number * number % 3001} " for number in range(20_000)]
TEXT = "".join(WORDS).encode()
PICTURE = picture()
STYLE = (("Content-Type", "text/css"), ("ETag", '"as-recorded"'), ("Cache-Control", "max-age=60"))
NO_TRANSFORM = (("Content-Type", "text/css"), ("Cache-Control", "no-transform"))
SVG = (("Content-Type", "image/svg+xml"),)


def recording() -> list[Response]:
    return [
        Response(f"{SITE}/", 200, (*HTML, ("Content-Encoding", "gzip")), encode(TEXT, "gzip")),
        Response(f"{SITE}/a.css", 200, STYLE, TEXT),
        Response(f"{SITE}/as-it-is.css", 200, NO_TRANSFORM, TEXT),
        Response(f"{SITE}/a.svg", 200, SVG, TEXT),
        Response(f"{SITE}/i.png", 200, (("Content-Type", "image/png"),), PICTURE),
        Response(f"{SITE}/nothing", 204, (), b""),
        Response(f"{SITE}/empty", 200, (("Content-Type", "text/css"),), b""),
    ]


def answers(server: str, setting: str) -> dict[str, Answer]:
    """By path; with no coding asked for: by path and a question mark; `kept`: to who has kept the style sheet."""
    compression = Compression.parse(setting)
    site = materialise(site_of(recording()), "https", compression=compression)
    authority = Authority.create(WORKSPACE / "authority")
    accept = ("-H", f"Accept-Encoding: {CODINGS[compression.kind]}")
    with served(server, {"https": site}, [Protocol.HTTPS1], authority, TLS[server]) as (made, _, services):
        watch = Observer(server, made, services, {"https": site}, authority)
        paths = [each.target for each in site.objects]
        asked = {path: watch.ask(services[0], path, *accept) for path in paths}
        tag = asked["/a.css"].header("etag")
        kept = watch.ask(services[0], "/a.css", *accept, "-H", f"If-None-Match: {tag}")
        return asked | {"kept": kept} | {f"{path}?": watch.ask(services[0], path) for path in ("/", "/a.css")}


def sent_tag(server: str, kind: str) -> str:
    """What a server makes of a recorded tag as it compresses: one of its own for each coding, or a weak one."""
    return f'"as-recorded-{CODINGS[kind]}"' if server in ("apache", "caddy") else 'W/"as-recorded"'


@pytest.mark.parametrize(("server", "kind"), CODERS)
def test_text_is_compressed_while_it_is_sent_at_the_level_asked_for(server: str, kind: str) -> None:
    levels = sorted(ABILITIES[server].coding[kind])
    found = {
        level: inside(partial(answers, server, f"{kind}-{level}{DYNAMIC}"))
        for level in (levels[0], levels[-1])
    }
    for seen in found.values():
        for path in ("/", "/a.css", "/a.svg"):
            answer = seen[path]
            assert (path, answer.header("content-encoding")) == (path, CODINGS[kind])
            assert decode(answer.body, CODINGS[kind]) == TEXT
            assert "accept-encoding" in (answer.header("vary") or "").lower()
        for path in ("/?", "/a.css?"):
            assert (seen[path].header("content-encoding"), seen[path].body) == (None, TEXT)
        assert (seen["/i.png"].header("content-encoding"), seen["/i.png"].body) == (None, PICTURE)
        assert seen["/a.css"].header("cache-control") == "max-age=60"
        assert (seen["/a.css"].header("etag"), seen["kept"].status, seen["kept"].body) == (
            sent_tag(server, kind),
            304,
            b"",
        )
        assert (seen["/nothing"].status, seen["/nothing"].body) == (204, b"")
        assert (
            seen["/empty"].status,
            decode(seen["/empty"].body, seen["/empty"].header("content-encoding") or ""),
        ) == (200, b"")
    for level, seen in found.items():
        forbidding = seen["/as-it-is.css"]
        assert forbidding.header("content-encoding") == CODINGS[kind]
        assert forbidding.body == encode(TEXT, CODINGS[kind], level), "by every server"
    first, last = (len(found[level]["/"].body) for level in (levels[0], levels[-1]))
    assert first > last


def test_every_compression_of_a_study_is_served_side_by_side(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """One lab with all of them, as a run has it; the browser takes the bodies, and the link carries fewer bytes."""
    archive = small_site(tmp_path_factory.mktemp("archives"), extra=f"<p>{TEXT.decode()}")
    names = ("none", "gzip-6", "gzip-6-dynamic", "zstd-3", "zstd-3-dynamic", "brotli-5")
    replays = tuple(Replay(compression=Compression.parse(name)) for name in names)

    setup = EngineSetup(
        Engine.CHROMIUM,
        (Protocol.H2,),
        Engine.CHROMIUM.traits.drivers[:1],
        NamedServer.usual(DEFAULT_SERVER),
        replays,
    )

    def run() -> dict[str, Record]:
        parts = [ServedPart((setup,), TcpSettings())]
        with opened(BrowserLab({Engine.CHROMIUM: {"small": archive}}, parts, TcpSettings())) as made:
            return {
                name: trial(
                    made, number, condition("small", Protocol.H2, compression=Compression.parse(name))
                )
                for number, name in enumerate(names, start=1)
            }

    records = inside(run)
    assert {name: (record.outcome, record.reason) for name, record in records.items()} == dict.fromkeys(
        names, (Outcome.OK, None)
    )
    down = {name: record.observation.bytes_down or 0 for name, record in records.items()}
    for name in names[1:]:
        assert down["none"] - down[name] > 0.6 * len(TEXT), down
