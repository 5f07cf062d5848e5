"""What a load waited for, on pages made for it: one that only transfers, chains requests, computes, or waits for the
server.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.observation import Observation
from harness.model.protocol import Protocol
from harness.model.settings import Replay, ThinkTime
from harness.model.waiting import Waiting
from harness.outcome import Outcome
from harness.records import Record
from harness.trial.bench import bench
from sites.archive import Archive, Response, write_archive
from sites.warc import About
from tests.system.conftest import START_URL, condition, html, inside, picture, trial

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
    server: str = "caddy"
    traced: bool = False


CELLS = (
    Cell("transfers", "transfers", SLOW),
    Cell("chains", "chains", FAR),
    Cell("chains anew", "chains", FAR, Protocol.HTTP1_CLOSE),
    Cell("chains by HTTP/2", "chains", FAR, Protocol.H2),
    Cell("chains by HTTP/3", "chains", FAR, Protocol.H3),
    Cell("computes", "computes", FAST),
    Cell("computes, traced", "computes", FAST, traced=True),
    Cell("waits", "computes", FAST, server="nginx"),
)


def site(root: Path, name: str, body: str, *others: Response) -> Archive:
    return write_archive(root, name, About(START_URL, "test", "test", ()), [html(START_URL, body), *others])


def chain() -> Iterator[Response]:
    """Each script writes the next one into the page."""
    for hop in range(1, HOPS + 1):
        following = f"document.write('<script src=/{hop + 1}.js><\\/script>')" if hop < HOPS else "0"
        yield Response(f"{START_URL}{hop}.js", 200, SCRIPT, following.encode())


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> Loads:
    root = tmp_path_factory.mktemp("archives")
    large = Response(f"{START_URL}large.png", 200, PNG, picture(320))
    pages = [
        site(root, "transfers", '<img src="/large.png">', large),
        site(root, "chains", '<script src="/1.js"></script>', *chain()),
        site(root, "computes", SPIN),
    ]
    archives = {page.name: page for page in pages}

    def run(engine: Engine, driver: Driver, server: str, cells: Sequence[Cell], **replay: Any) -> Loads:
        """The loads of one engine from one server, by name."""
        found = {}
        settings = replace(Replay.usual(engine), **replay)
        with bench(
            archives, {each.protocol for each in cells}, engine=engine, server=server, replay=settings
        ) as opened:
            for number, each in enumerate(cells, start=1):
                where = condition(each.page, each.protocol, driver, each.link, server=server)
                keep = ("trace",) if each.traced else ()
                found[each.name] = trial(opened, number, where, keep=keep)
        return found

    usual, old = [each for each in CELLS if each.server == "caddy"], Engine.QTWEBKIT
    thinking = [each for each in CELLS if each.server != "caddy"]
    historical = [each for each in usual if each.protocol is Protocol.HTTP1 and not each.traced]
    of_old = inside(lambda: run(old, Driver.PYQT, old.traits.server, historical))
    return {
        **inside(lambda: run(Engine.CHROMIUM, Driver.PLAYWRIGHT, "caddy", usual)),
        **inside(
            lambda: run(Engine.CHROMIUM, Driver.PLAYWRIGHT, "nginx", thinking, think_time=ThinkTime(THINK_MS))
        ),
        **{f"{name}, QtWebKit": record for name, record in of_old.items()},
    }


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
    for name in loads:
        took, spent = parts(loads, name)
        assert sum(spent.values()) == pytest.approx(took, abs=0.001), name
        assert min(spent.values()) >= 0, name


@pytest.mark.parametrize("engine", ["", ", QtWebKit"])
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
        ("chains by HTTP/2", 3),
        ("chains by HTTP/3", 2),
    ],
)
def test_a_page_that_only_chains_requests_waits_for_round_trips(
    loads: Loads, name: str, handshakes: int
) -> None:
    took, spent = parts(loads, name)
    assert HOPS + 1 <= trips(spent[Waiting.ROUND_TRIPS]) <= HOPS + 3
    # A busy machine makes handshakes longer, by up to two round trips of 200 ms.
    assert handshakes <= trips(spent[Waiting.HANDSHAKES]) <= handshakes + 2
    assert spent[Waiting.DOWN] + spent[Waiting.UP] < 0.05 * took


def test_without_keep_alive_each_request_of_a_chain_has_a_handshake(loads: Loads) -> None:
    _, spent = parts(loads, "chains anew")
    assert HOPS + 1 <= trips(spent[Waiting.ROUND_TRIPS]) <= HOPS + 3
    # Chromium makes one or two connections before there are requests for them.
    assert HOPS <= trips(spent[Waiting.HANDSHAKES]) <= HOPS + 2


@pytest.mark.parametrize("how", ["", ", traced", ", QtWebKit"])
def test_a_page_that_only_computes_waits_for_its_main_thread(loads: Loads, how: str) -> None:
    """The page spins by the clock, so where the machine takes the core away its thread runs for less."""
    took, spent = parts(loads, f"computes{how}")
    assert 0.7 * SPIN_MS <= spent[Waiting.MAIN_THREAD] < took
    assert max(spent, key=spent.__getitem__) is Waiting.MAIN_THREAD


def test_a_page_of_a_server_that_thinks_waits_for_the_server(
    loads: Loads,
) -> None:
    _, spent = parts(loads, "waits")
    assert THINK_MS - 5 <= spent[Waiting.SERVER] <= THINK_MS + 25
    assert spent[Waiting.MAIN_THREAD] >= 0.7 * SPIN_MS
