"""The vitals of a page, from what its timelines held."""

from __future__ import annotations

from typing import Any

import pytest

from harness.probes.vitals import NOT_SETTLED, blocking_ms, session_windows, vitals

ORIGIN = 1_000_000.0


def document(**changes: Any) -> dict[str, Any]:
    """What entries.js tells of a document."""
    return {
        "time_origin_ms": ORIGIN,
        "now_ms": 5000.0,
        "visible": 1000.0,
        "frames": 0,
        "dropped": 0,
        "fcp_ms": 100,
        "largest": {"start": 300, "size": 50.0, "element": "img#hero", "url": "https://a.example/x.png"},
        "shifts": [],
        "tasks": [],
    } | changes


def test_the_vitals_of_a_page_without_frames() -> None:
    found = vitals([document(tasks=[[200, 80]], shifts=[[150, 0.1]], dropped=3)], ORIGIN, settled=True)
    assert (found.settled, found.observed_ms, found.fcp_ms) == (True, 5000.0, 100)
    assert (found.lcp_ms, found.lcp_element, found.lcp_url) == (300, "img#hero", "https://a.example/x.png")
    assert (found.cls, found.tbt_ms) == (0.1, 30)
    assert (found.dropped_entries, found.unread_frames) == (3, 0)
    untold = vitals([document(dropped=3), document(dropped=None)], ORIGIN, settled=True)
    assert (untold.settled, untold.dropped_entries) == (True, None)


@pytest.mark.parametrize(
    ("shifts", "sums"),
    [
        ([], []),
        ([(0, 1), (999, 1)], [2]),
        ([(0, 1), (1000, 1)], [1, 1]),  # a second apart
        ([(at, 1) for at in range(0, 6000, 900)], [6, 1]),  # the window is full at 5 s
        ([(0, 1), (2000, 3), (2500, 1)], [1, 4]),
    ],
)
def test_session_windows_end_after_a_second_without_shifts_or_five_in_all(
    shifts: list[tuple[float, float]], sums: list[float]
) -> None:
    assert session_windows(shifts) == sums


@pytest.mark.parametrize(
    ("task", "blocked"),
    [
        ((200, 50), 0),
        ((200, 51), 1),
        ((0, 150), 0),  # 50 ms of it lie after the first paint
        ((0, 190), 40),  # it straddles the first paint: of 90 ms, 40 block
        ((0, 90), 0),
        ((950, 200), 0),  # the observation ended 50 ms after its beginning
        ((900, 200), 50),
    ],
)
def test_of_a_task_the_part_after_first_paint_blocks_beyond_50_ms(
    task: tuple[float, float], blocked: float
) -> None:
    assert blocking_ms([task], 100, 1000) == blocked


def test_a_frame_counts_by_its_visible_share_and_on_the_clock_of_the_page() -> None:
    frame = document(
        time_origin_ms=ORIGIN + 400,
        visible=250.0,
        largest={"start": 10, "size": 60.0, "element": "p", "url": None},
        shifts=[[100, 0.4]],
        tasks=[[50, 900]],
    )
    hidden = document(visible=0, largest={"start": 1, "size": 1e6}, shifts=[[1, 9]])
    found = vitals([document(shifts=[[450, 0.1]], frames=3), frame, hidden], ORIGIN, settled=False)
    assert (found.lcp_ms, found.lcp_element, found.lcp_url) == (410, "p", None)
    assert found.cls == pytest.approx(0.1 + 0.4 / 4)
    assert found.tbt_ms == 0  # its tasks are on a thread of their own
    assert (found.settled, found.unread_frames) == (False, 1)


def test_a_frame_in_view_whose_first_paint_is_no_candidate_counts_as_unread() -> None:
    late = document(untold=True, visible=250.0, largest={"start": 700, "size": 60.0})
    nothing, hidden = document(untold=True, largest=None), document(untold=True, visible=0)
    found = vitals([document(frames=3), late, nothing, hidden], ORIGIN, settled=True)
    assert (found.lcp_ms, found.unread_frames) == (700, 2)


def test_another_document_and_what_is_damaged_have_no_vitals() -> None:
    assert vitals([document()], ORIGIN + 1, settled=True) == NOT_SETTLED
    assert vitals([], ORIGIN, settled=True) == NOT_SETTLED
    assert vitals([document(tasks="many")], ORIGIN, settled=True) == NOT_SETTLED


def test_what_the_browser_does_not_tell_is_none() -> None:
    silent = document(fcp_ms=None, largest=None, shifts=None, tasks=None)
    found = vitals([silent], ORIGIN, settled=True)
    assert (found.fcp_ms, found.lcp_ms, found.cls, found.tbt_ms) == (None, None, None, None)
