"""What a load waited for, on pages made for it: one that only transfers, chains requests, computes, or waits for the
server.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.errors import Outcome
from harness.model.engine import Driver, Engine
from harness.model.kind import Waiting
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Replay, ThinkTime
from harness.probes.registry import Observation
from harness.records import Record
from harness.trial.trial import browser_lab
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import START_URL, condition, html, inside, picture, timed, trial
from tests.system.test_other_engines import missing

pytestmark = timed("what waits for a core is told as another wait")

RTT_MS, HOPS, SPIN_MS, THINK_MS = 200.0, 5, 600, 400.0
SLOW, FAR, FAST = Link.of(2, 10), Link.of(50, RTT_MS), Link.of(100, 10)
Loads = Mapping[str, Record[Observation]]
SCRIPT = (("Content-Type", "text/javascript"),)
PNG = (("Content-Type", "image/png"),)
SPIN = f"<script>const begun = performance.now(); while (performance.now() - begun < {SPIN_MS}) ;</script>"


@dataclass(frozen=True)
class Cell:
    """One load: its name among the others, the page, and how it is loaded."""

    name: str
    page: str
    link: Link
    protocol: Protocol = Protocol.HTTP1
    driver: Driver = Driver.PLAYWRIGHT
    server: str = "caddy"
    traced: bool = False


OLD: dict[str, Any] = {"driver": Driver.PYQT, "server": Engine.QTWEBKIT.traits.server}
# By what stands behind the names of cells. Firefox and WebKit need not be installed.
OTHERS: Mapping[str, dict[str, Any]] = {
    ", Firefox": {"driver": Driver.MARIONETTE},
    ", WebKit": {"driver": Driver.WEBKITGTK},
}
ABSENT = {name: why for name, each in OTHERS.items() if (why := missing(each["driver"].engines[0]))}
TODAY = [
    pytest.param(name, marks=pytest.mark.skipif(name in ABSENT, reason=ABSENT.get(name, "")))
    for name in ("", *OTHERS)
]
CELLS = (
    Cell("transfers", "transfers", SLOW),
    Cell("chains", "chains", FAR),
    Cell("chains anew", "chains", FAR, Protocol.HTTP1_CLOSE),
    Cell("chains by HTTP/2", "chains", FAR, Protocol.H2),
    Cell("chains by HTTP/3", "chains", FAR, Protocol.H3),
    Cell("computes", "computes", FAST),
    Cell("computes, traced", "computes", FAST, traced=True),
    Cell("computes-meanwhile", "computes-meanwhile", FAST),
    Cell("waits", "computes", FAST, server="nginx"),
    Cell("transfers, QtWebKit", "transfers", SLOW, **OLD),
    Cell("chains, QtWebKit", "chains", FAR, **OLD),
    Cell("computes, QtWebKit", "computes", FAST, **OLD),
    *(
        Cell(f"{page}{name}", page, link, **of_engine)
        for name, of_engine in OTHERS.items()
        if name not in ABSENT
        for page, link in (
            ("transfers", SLOW),
            ("chains", FAR),
            ("computes", FAST),
            ("computes-meanwhile", FAST),
        )
    ),
)


def site(root: Path, name: str, body: str, *others: Response) -> Archive:
    return write_archive(root, name, About(START_URL, "test", "test", ()), [html(START_URL, body), *others])


def chain() -> Iterator[Response]:
    """Each script writes the next one into the page."""
    for hop in range(1, HOPS + 1):
        following = f"document.write('<script src=/{hop + 1}.js><\\/script>')" if hop < HOPS else "0"
        yield Response(f"{START_URL}{hop}.js", 200, SCRIPT, following.encode())


def loaded(
    archives: Mapping[str, Archive], driver: Driver, server: str, cells: Sequence[Cell]
) -> dict[str, Record[Observation]]:
    """The loads of one driver from one server, by the cells' names; nginx thinks before it answers."""
    found, engine = {}, driver.engines[0]
    replay = Replay.usual(engine)
    if server == "nginx":
        replay = replace(replay, think_time=ThinkTime(THINK_MS))
    protocols = {each.protocol for each in cells}
    with browser_lab(archives, protocols, engine=engine, server=server, replay=replay) as opened:
        for number, each in enumerate(cells, start=1):
            where = condition(each.page, each.protocol, driver, each.link, server=server)
            found[each.name] = trial(opened, number, where, keep=("trace",) if each.traced else ())
    return found


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Archive]:
    root = tmp_path_factory.mktemp("archives")
    large = Response(f"{START_URL}large.png", 200, PNG, picture(320))
    small = Response(f"{START_URL}small.png", 200, PNG, picture())
    pages = [
        site(root, "transfers", '<img src="/large.png">', large),
        site(root, "chains", '<script src="/1.js"></script>', *chain()),
        site(root, "computes", SPIN),
        site(root, "computes-meanwhile", f'<img src="/small.png">{SPIN}', small),
    ]
    return {page.name: page for page in pages}


@pytest.fixture(scope="module")
def loads(archives: Mapping[str, Archive]) -> Loads:
    """A load of each cell, by its name; those of one lab are made on one."""
    found: dict[str, Record[Observation]] = {}
    for (driver, server), group in itertools.groupby(CELLS, key=lambda each: (each.driver, each.server)):
        found |= inside(partial(loaded, archives, driver, server, list(group)))
    return found


def parts(loads: Loads, name: str) -> tuple[float, dict[Waiting, float]]:
    """The load time, and what it was spent on."""
    record = loads[name]
    assert (record.outcome, record.reason) == (Outcome.OK, None), name
    seen = record.observation
    assert seen.plt_ms is not None
    return seen.plt_ms, {each: getattr(seen, each.key) for each in Waiting}


def trips(took_ms: float) -> int:
    """How many whole round trips a time holds; what a busy machine adds is less than one."""
    return math.floor(took_ms / RTT_MS + 0.05)


def test_every_load_is_divided_without_remainder(loads: Loads) -> None:
    for cell in CELLS:
        took, spent = parts(loads, cell.name)
        assert sum(spent.values()) == pytest.approx(took, abs=0.001), cell
        assert min(spent.values()) >= 0, cell


@pytest.mark.parametrize("engine", [*TODAY, ", QtWebKit"])
def test_a_page_that_only_transfers_waits_for_the_link(loads: Loads, engine: str) -> None:
    took, spent = parts(loads, f"transfers{engine}")
    bytes_down = loads[f"transfers{engine}"].observation.bytes_down or 0
    assert spent[Waiting.DOWN] == pytest.approx(bytes_down * 8 / 2e6 * 1e3, rel=0.03)
    assert spent[Waiting.DOWN] > 0.75 * took
    assert spent[Waiting.UP] < 0.05 * took


# How many round trips come before the first request: the look-up of the name, TCP, TLS 1.3; QUIC is one.
@pytest.mark.parametrize(
    ("name", "handshakes"),
    [
        ("chains", 2),
        ("chains, QtWebKit", 2),
        *(pytest.param(f"chains{each.values[0]}", 2, marks=each.marks) for each in TODAY[1:]),
        ("chains by HTTP/2", 3),
        ("chains by HTTP/3", 2),
    ],
)
def test_a_page_that_only_chains_requests_waits_for_round_trips(
    loads: Loads, name: str, handshakes: int
) -> None:
    took, spent = parts(loads, name)
    # What the server works on an answer is no part of its round trip: a ms or two, by the machine.
    assert spent[Waiting.SERVER] < 0.02 * took
    assert HOPS + 1 <= trips(spent[Waiting.ROUND_TRIPS] + spent[Waiting.SERVER]) <= HOPS + 3
    # A busy machine makes handshakes longer, by up to two round trips of 200 ms.
    assert handshakes <= trips(spent[Waiting.HANDSHAKES]) <= handshakes + 2
    assert spent[Waiting.DOWN] + spent[Waiting.UP] < 0.05 * took


def test_without_keep_alive_each_request_of_a_chain_has_a_handshake(loads: Loads) -> None:
    _, spent = parts(loads, "chains anew")
    assert HOPS + 1 <= trips(spent[Waiting.ROUND_TRIPS] + spent[Waiting.SERVER]) <= HOPS + 3
    # Chromium makes one or two connections before there are requests for them.
    assert HOPS <= trips(spent[Waiting.HANDSHAKES]) <= HOPS + 2


@pytest.mark.parametrize("how", [*TODAY, ", traced", ", QtWebKit"])
def test_a_page_that_only_computes_waits_for_its_main_thread(loads: Loads, how: str) -> None:
    """The page spins by the clock, so where the machine takes the core away its thread runs for less."""
    took, spent = parts(loads, f"computes{how}")
    assert 0.7 * SPIN_MS <= spent[Waiting.MAIN_THREAD] < took
    assert max(spent, key=spent.__getitem__) is Waiting.MAIN_THREAD


@pytest.mark.parametrize("engine", TODAY)
def test_a_page_that_computes_while_an_answer_comes_waits_for_its_main_thread(
    loads: Loads, engine: str
) -> None:
    """The picture has come long before the script is done, whenever the page hears of that."""
    _, spent = parts(loads, f"computes-meanwhile{engine}")
    assert spent[Waiting.MAIN_THREAD] >= 0.7 * SPIN_MS


def test_a_page_of_a_server_that_thinks_waits_for_the_server(loads: Loads) -> None:
    _, spent = parts(loads, "waits")
    assert THINK_MS - 5 <= spent[Waiting.SERVER] <= THINK_MS + 25
    assert spent[Waiting.MAIN_THREAD] >= 0.7 * SPIN_MS


def test_a_handshake_of_spdy_is_shorter_by_tls_1_3(archives: Mapping[str, Archive]) -> None:
    """Its request follows the handshake at once. Where it waits until what came before is acknowledged, which takes up
    to 40 ms, the round trip that was spared is lost again.
    """
    usual, server = Replay.usual(Engine.QTWEBKIT), Engine.QTWEBKIT.traits.server
    where = condition("chains", Protocol.SPDY, Driver.PYQT, Link.of(50, 20), server=server)

    def first_bytes_ms(replay: Replay) -> float:
        with browser_lab(archives, [Protocol.SPDY], engine=Engine.QTWEBKIT, replay=replay) as opened:
            records = [trial(opened, number, where) for number in (1, 2, 3)]
        assert [record.outcome for record in records] == [Outcome.OK] * 3
        return min(record.observation.ttfb_ms or math.inf for record in records)

    longer_ms, shorter_ms = (
        inside(partial(first_bytes_ms, replace(usual, tls=version))) for version in ("1.2", "1.3")
    )
    assert shorter_ms < longer_ms - 5
