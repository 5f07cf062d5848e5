"""The headline page is that of its data file, and what is derived for it is right where the truth is known."""

from __future__ import annotations

import contextlib
import json
import socket
import statistics
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from benchmarks.headline.__main__ import PAGE, kept, read
from benchmarks.headline.advice import errors
from benchmarks.headline.link import received_mbps
from benchmarks.headline.overhead import between, steered
from benchmarks.headline.page import DATA, cells, page
from benchmarks.headline.report import BARE
from benchmarks.headline.row import Figure, Found, NotThereError
from benchmarks.headline.rows import ROWS
from benchmarks.headline.shells import mahimahi
from benchmarks.lighthousetables import AUDITS
from benchmarks.scale import LargeRun
from harness.errors import TestbedFailed
from harness.model.engine import Engine
from tests.facts import tells

RESULTS = Path(__file__).parents[3] / "docs" / "results"
SIX_TURNS = [(value, 3 * value) for value in (0.9, 1.0, 1.1, 1.0, 0.8, 1.2)]


def measured(*figures: Figure, **more: Any) -> dict[str, Any]:
    """What the data file has of a row."""
    return {
        "date": "2026-11-27",
        "began_utc": "07:30",
        "minutes": 12.3,
        "coldload": "0.1.0",
        "machine": {
            "processor": "A Processor",
            "cores": 2,
            "kernel": "6.18",
            "system": "Debian",
            "as_root": True,
        },
        "load_average": {"before": [0.1, 0.2, 0.3], "after": [0.4, 0.5, 0.6]},
        "turns": 6,
        **Found(figures, {"Peer": "1.2"}).to_json(),
        **more,
    }


def shown(told: dict[str, Any]) -> str:
    """The page with a row of this data."""
    return page({"rows": {"link": told}}, ROWS)


def test_the_page_is_that_of_its_data() -> None:
    told = "renew it: python -m benchmarks.headline --page"
    assert page(read(RESULTS / DATA), ROWS) == (RESULTS / PAGE).read_text(encoding="utf-8"), told


def test_the_page_leads_to_its_data_once_there_are_any() -> None:
    assert f"]({DATA})" not in page({}, ROWS)
    assert f"]({DATA})" in shown(measured(Figure("rate", "s", "peer", SIX_TURNS)))


def test_a_ratio_is_taken_inside_the_turns_and_has_an_interval() -> None:
    line = cells(Found([Figure("error", "ms", "peer", SIX_TURNS)]).to_json()["figures"][0])
    assert line == ("error", "peer", "1.00 ms", "3.00 ms", "3.00 (3.00 to 3.00)", "6")


@pytest.mark.parametrize(
    ("pairs", "in_turns"), [(SIX_TURNS, False), (SIX_TURNS[:2], True), ([*SIX_TURNS, (1.0, 0.0)], True)]
)
def test_without_turns_enough_or_with_a_zero_it_is_that_of_medians(
    pairs: list[tuple[float, float]], in_turns: bool
) -> None:
    line = cells(Found([Figure("error", "ms", "peer", pairs, in_turns=in_turns)]).to_json()["figures"][0])
    assert float(line[4]) == pytest.approx(3, abs=0.001)


def test_a_row_tells_when_on_what_and_how_often_it_was_measured_and_what_was_left_out() -> None:
    alone = Figure("error", "ms", "peer", here=[2.0, 4.0], why="no such peer on Linux")
    text = shown(
        measured(Figure("rate", "s", "peer", SIX_TURNS, front=True), alone, left_out=["2 turns, busy"])
    )
    assert tells(text, "--only link", "2026-11-27", "A Processor", "coldload 0.1.0", "Peer 1.2", "12 minutes")
    assert tells(text, "Left out", "2 turns, busy")
    assert tells(text, "Not measured beside it", "no such peer on Linux")
    lines = text.splitlines()
    assert "| error | peer | 3.00 ms | not measured |  | 2 |" in lines
    assert lines.count("| rate | peer | 1.00 s | 3.00 s | 3.00 (3.00 to 3.00) | 6 |") == 2  # also in front
    assert tells(text, "1 of 6 rows", "2026-11-27")


def test_a_row_whose_peer_is_missing_says_so_and_how_to_get_it() -> None:
    text = shown({"date": "2026-11-27", "not_measured": "mm-link is not installed; build it"})
    assert tells(text, "Not measured", "2026-11-27", "mm-link is not installed; build it")
    assert tells(text, "Not measured yet", "--only users")


def test_rows_of_two_days_are_not_called_one_session() -> None:
    figure = Figure("rate", "s", "peer", SIX_TURNS)
    other = measured(figure, date="2026-11-28")
    text = page({"rows": {"link": measured(figure), "users": other}}, ROWS)
    assert tells(text, "2 of 6 rows", "not all on one day")


def test_a_row_that_could_not_be_measured_again_stays_and_one_that_was_is_replaced() -> None:
    old, new = measured(Figure("rate", "s", "peer", SIX_TURNS)), measured(date="2026-11-28")
    data = kept({}, "users", old)
    assert kept(data, "users", {"date": "2026-11-28", "not_measured": "gone"}) == data
    assert kept(data, "users", new)["rows"] == {"users": {**new, "earlier": [old]}}
    assert list(kept(data, "overhead", new)["rows"]) == ["overhead", "users"]


def test_a_row_shows_what_earlier_sittings_gave_of_the_same_figures() -> None:
    old = measured(Figure("rate", "s", "peer", SIX_TURNS), Figure("gone", "s", "peer", SIX_TURNS))
    data = kept(kept({}, "link", old), "link", measured(Figure("rate", "s", "peer", [(2.0, 2.0)] * 6)))
    lines = page(data, ROWS).splitlines()
    assert "Earlier sittings:" in lines
    assert "| 2026-11-27 07:30 | rate | peer | 1.00 s | 3.00 s | 3.00 (3.00 to 3.00) | 6 |" in lines
    assert not any("| gone |" in line for line in lines)


def test_overhead_is_the_time_between_loads_without_them() -> None:
    assert between([(1000.0, 200.0), (4200.0, 300.0), (6500.0, 1000.0)]) == pytest.approx((3000 + 2000) / 2)


def test_what_cannot_be_steered_or_is_not_built_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotThereError, match="WebKit"):
        steered(Engine.WEBKIT)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotThereError, match=r"mm-delay.*benchmarks\.mahimahi"):
        mahimahi(tmp_path)


def test_a_stream_is_counted_after_it_has_settled() -> None:
    near, far = socket.socketpair()

    def send() -> None:
        pause = threading.Event()
        with contextlib.suppress(OSError):  # nobody reads any more
            while True:
                far.sendall(bytes(10_000))
                pause.wait(0.005)

    sender = threading.Thread(target=send)
    with near, far:
        sender.start()
        rate = received_mbps(near, 0.05, 0.2)
        near.close()
        sender.join()
    assert 0 < rate < 40  # 10,000 bytes each 5 ms or more, and what lay in the socket on a busy machine


def test_a_stream_that_ends_early_is_no_measurement() -> None:
    near, far = socket.socketpair()
    with near, far:
        far.sendall(bytes(10_000))
        far.close()
        with pytest.raises(TestbedFailed, match="broke off"):
            received_mbps(near, 0.0, 5.0)


def test_a_saving_is_wrong_by_what_it_differs_from_the_second_half() -> None:
    def saves(ms: float) -> dict[str, Any]:
        return {
            "changes": {
                "rewrite_css": {"lcp_ms": {"saved_ms": ms}},
                "inline": {"lcp_ms": {"saved_ms": 2 * ms}},
            }
        }

    audits = {audit: {"lcp_ms": None} for audit in AUDITS} | {"unminified-css": {"lcp_ms": {"median": 150.0}}}
    found = errors(saves(110), {"audits": audits}, saves(100))
    assert sorted(found) == [(10, 50), (20, 200)]


def test_bare_reading_takes_the_median_of_each_condition(tmp_path: Path) -> None:
    LargeRun(pages=1, trials=2).write(tmp_path / "run")
    file = tmp_path / "run" / "records.jsonl"
    times: dict[str, list[float]] = {}
    for record in map(json.loads, file.read_text().splitlines()):
        if record["outcome"] == "ok" and record["left_out"] is None:
            times.setdefault(str(record["condition"]), []).append(record["plt_ms"])
    command = [sys.executable, "-c", BARE, str(file)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    medians = [float(line.split()[-1]) for line in said if "page-01" in line]
    assert sorted(medians) == pytest.approx(sorted(map(statistics.median, times.values())), rel=1e-4)
