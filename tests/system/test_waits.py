"""What a load waited for, on pages made for it: one that only transfers, chains requests, computes, or waits for the
server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

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
SCRIPT = (("Content-Type", "text/javascript"),)
PNG = (("Content-Type", "image/png"),)
SPIN = f"<script>const begun = performance.now(); while (performance.now() - begun < {SPIN_MS}) ;</script>"


def site(root: Path, name: str, body: str, *others: Response) -> Archive:
    return write_archive(root, name, About(START_URL, "test", "test", ()), [html(START_URL, body), *others])


def chain() -> Iterator[Response]:
    """Each script writes the next one into the page."""
    for hop in range(1, HOPS + 1):
        following = f"document.write('<script src=/{hop + 1}.js><\\/script>')" if hop < HOPS else "0"
        yield Response(f"{START_URL}{hop}.js", 200, SCRIPT, following.encode())


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Record[Observation]]:
    root = tmp_path_factory.mktemp("archives")
    large = Response(f"{START_URL}large.png", 200, PNG, picture(320))
    pages = [
        site(root, "transfers", '<img src="/large.png">', large),
        site(root, "chains", '<script src="/1.js"></script>', *chain()),
        site(root, "computes", SPIN),
    ]
    archives = {page.name: page for page in pages}

    def run(engine: Engine, driver: Driver, replay: Replay) -> dict[str, Record[Observation]]:
        def cell(page: str, protocol: Protocol, link: Link) -> Record[Observation]:
            keep = ("trace",) if traced else ()
            where = condition(page, protocol, driver, link, server=engine.traits.server)
            return trial(opened, len(found) + 1, where, keep=keep)

        found: dict[str, Record[Observation]] = {}
        protocols = [Protocol.HTTP1, Protocol.HTTP1_CLOSE]
        with bench(archives, protocols, engine=engine, replay=replay) as opened:
            traced = False
            if replay.think_time:
                return {"waits": cell("computes", Protocol.HTTP1, FAST)}
            found["transfers"] = cell("transfers", Protocol.HTTP1, SLOW)
            found["chains"] = cell("chains", Protocol.HTTP1, FAR)
            found["chains anew"] = cell("chains", Protocol.HTTP1_CLOSE, FAR)
            found["computes"] = cell("computes", Protocol.HTTP1, FAST)
            if engine is Engine.CHROMIUM:
                traced = True
                found["computes, traced"] = cell("computes", Protocol.HTTP1, FAST)
        return found

    usual = Replay.usual(Engine.CHROMIUM)
    thinking = replace(usual, think_time=ThinkTime(THINK_MS))
    of_old = inside(lambda: run(Engine.QTWEBKIT, Driver.PYQT, Replay.usual(Engine.QTWEBKIT)))
    return {
        **inside(lambda: run(Engine.CHROMIUM, Driver.PLAYWRIGHT, usual)),
        **inside(lambda: run(Engine.CHROMIUM, Driver.PLAYWRIGHT, thinking)),
        **{f"{name}, QtWebKit": record for name, record in of_old.items()},
    }


def parts(loads: Mapping[str, Record[Observation]], name: str) -> tuple[float, dict[Waiting, float]]:
    """The load time, and what it was spent on."""
    record = loads[name]
    assert (record.outcome, record.reason) == (Outcome.OK, None), name
    seen = record.observation
    assert seen.plt_ms is not None
    return seen.plt_ms, {each: getattr(seen, each.key) for each in Waiting}


def test_every_load_is_divided_without_remainder(loads: Mapping[str, Record[Observation]]) -> None:
    for name in loads:
        took, spent = parts(loads, name)
        assert sum(spent.values()) == pytest.approx(took, abs=0.001), name
        assert min(spent.values()) >= 0, name


@pytest.mark.parametrize("engine", ["", ", QtWebKit"])
def test_a_page_that_only_transfers_waits_for_the_link(
    loads: Mapping[str, Record[Observation]], engine: str
) -> None:
    took, spent = parts(loads, f"transfers{engine}")
    bytes_down = loads[f"transfers{engine}"].observation.bytes_down or 0
    assert spent[Waiting.DOWN] == pytest.approx(bytes_down * 8 / 2e6 * 1e3, rel=0.03)
    assert spent[Waiting.DOWN] > 0.75 * took
    assert spent[Waiting.UP] < 0.02 * took


@pytest.mark.parametrize("engine", ["", ", QtWebKit"])
def test_a_page_that_only_chains_requests_waits_for_round_trips(
    loads: Mapping[str, Record[Observation]], engine: str
) -> None:
    took, spent = parts(loads, f"chains{engine}")
    assert spent[Waiting.ROUND_TRIPS] == pytest.approx((HOPS + 1) * RTT_MS, rel=0.1)
    assert spent[Waiting.HANDSHAKES] == pytest.approx(2 * RTT_MS, rel=0.1)  # the name, and one connection
    assert spent[Waiting.DOWN] + spent[Waiting.UP] < 0.02 * took


@pytest.mark.parametrize("engine", ["", ", QtWebKit"])
def test_without_keep_alive_each_request_of_a_chain_has_a_handshake(
    loads: Mapping[str, Record[Observation]], engine: str
) -> None:
    _, spent = parts(loads, f"chains anew{engine}")
    assert spent[Waiting.ROUND_TRIPS] == pytest.approx((HOPS + 1) * RTT_MS, rel=0.1)
    assert spent[Waiting.HANDSHAKES] == pytest.approx((HOPS + 2) * RTT_MS, rel=0.1)


@pytest.mark.parametrize("how", ["", ", traced", ", QtWebKit"])
def test_a_page_that_only_computes_waits_for_its_main_thread(
    loads: Mapping[str, Record[Observation]], how: str
) -> None:
    took, spent = parts(loads, f"computes{how}")
    assert SPIN_MS - 25 <= spent[Waiting.MAIN_THREAD] < took
    assert spent[Waiting.MAIN_THREAD] > 0.75 * took


def test_a_page_of_a_server_that_thinks_waits_for_the_server(
    loads: Mapping[str, Record[Observation]],
) -> None:
    _, spent = parts(loads, "waits")
    assert THINK_MS - 5 <= spent[Waiting.SERVER] <= THINK_MS + 25
    assert spent[Waiting.MAIN_THREAD] >= SPIN_MS - 25
