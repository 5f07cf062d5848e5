"""The difference to Mahimahi is split so that causes add up, and the documents tell what the data file holds."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mahimahicauses import CAUSES, WHOLE, Arm, Block, Cause, Told, Took, arm_rows, share, to_json
from benchmarks.mahimahisection import DATA, HEAD, in_replay, in_results, row, section

DOCS = Path(__file__).parents[3] / "docs"
MARK = "<!-- of data/mahimahi.json -->"
# What each thing multiplies a load by.
PROBES, CONTROL, LINK, SERVER, TOGETHER = 0.99, 1.01, 1.04, 1.02, 1.005
FAR, SLOW, PROCESSES = 1.03, 1.01, 1.004
FACTORS = {
    Arm.HERE: 1.0,
    Arm.BARE: PROBES,
    Arm.LINK: PROBES * LINK,
    Arm.SERVER: PROBES * SERVER,
    Arm.BOTH: PROBES * LINK * SERVER * TOGETHER,
    Arm.MAHIMAHI: PROBES * LINK * SERVER * TOGETHER * CONTROL,
    Arm.FAR: PROBES * FAR,
    Arm.SLOW: PROBES * SLOW,
    Arm.PROCESSES: PROBES * PROCESSES,
}


def made_blocks(count: int = 14, noise: float = 0.0, factors: Mapping[Arm, float] = FACTORS) -> list[Block]:
    """Blocks of which the causes are known; each block takes longer than the one before."""
    source = random.Random(3)  # noqa: S311  # noise, not a secret
    return [
        {
            arm: Took(1500 * (1 + number / 20) * factor * math.exp(source.gauss(0, noise)), 120, 400, 101, 0)
            for arm, factor in factors.items()
        }
        for number in range(count)
    ]


def made_data(blocks: list[Block]) -> dict[str, Any]:
    return {
        "date": "2026-01-02",
        "machine": {"processor": "AMD EPYC", "cores": 2},
        "load_average": {"before": [0.1, 0.1, 0.1], "after": [1.2, 1.0, 0.9]},
        "page": "dummy-2012",
        "link": {"down_mbps": 10.0, "rtt_ms": 100.0},
        "congestion_control": {"here": "cubic", "there": "bbr"},
        "delays": {
            "connect_here_ms": 100.2,
            "connect_there_ms": 103.1,
            "answer_here_ms": 0.5,
            "answer_there_ms": 6.5,
        },
        "planned": 15,
        "blocks": to_json(blocks),
    }


def cause(label: str, above: str | None = None) -> Cause:
    """The cause of that label; `above` is that of which it is a part."""
    labels = [each.label for each in CAUSES]
    return CAUSES[labels.index(label, 0 if above is None else labels.index(above))]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (cause("a trial's probes are not there"), PROBES),
        (cause("congestion control"), CONTROL),
        (cause("the link"), LINK * math.sqrt(TOGETHER)),
        (cause("its longer round trip"), FAR),
        (cause("all else of it", "the link"), LINK * math.sqrt(TOGETHER) / FAR),
        (cause("the server"), SERVER * math.sqrt(TOGETHER)),
        (cause("all else of it", "the server"), SERVER * math.sqrt(TOGETHER) / SLOW / PROCESSES),
        (WHOLE, FACTORS[Arm.MAHIMAHI]),
    ],
    ids=lambda each: each.label if isinstance(each, Cause) else None,
)
def test_each_cause_is_found(known: Cause, expected: float) -> None:
    told = Told.of(made_blocks(noise=0.001), known.weights)
    assert told.ratio == pytest.approx(expected, abs=0.002)
    assert told.low <= expected <= told.high


@pytest.mark.parametrize("count", [4, 14, 20])
def test_shares_add_up_whatever_the_noise(count: int) -> None:
    blocks = made_blocks(count, 0.005)
    whole = sum(share(blocks, each) or 0 for each in CAUSES if not each.within)
    assert whole == pytest.approx(100)
    for place, outer in enumerate(CAUSES):
        parts = []
        for each in CAUSES[place + 1 :]:
            if not each.within:
                break
            parts.append(share(blocks, each) or 0)
        if parts and not outer.within:
            assert sum(parts) == pytest.approx(share(blocks, outer))


def test_of_no_difference_no_share_is_told() -> None:
    blocks = made_blocks(noise=0.01, factors=dict.fromkeys(Arm, 1.0))
    assert share(blocks, WHOLE) is None


def test_a_row_holds_each_arm_and_the_ratio_of_pairs() -> None:
    head, *rows = arm_rows(made_blocks())
    assert len(rows) == len(Arm)
    assert {len(each) for each in (head, *rows)} == {len(head)}
    of_mahimahi = rows[[*Arm].index(Arm.MAHIMAHI)]
    assert of_mahimahi[-2].startswith(f"{FACTORS[Arm.MAHIMAHI]:.3f} (")
    assert of_mahimahi[-1] == ""


def test_the_section_takes_the_place_of_the_one_before() -> None:
    data = made_data(made_blocks())
    text = f"# A page\n\n{HEAD}\nOld.\n\n## Another\nIt stays.\n"
    filled = in_replay(text, data)
    assert filled == "# A page\n\n" + "\n".join(section(data)) + "\n\n## Another\nIt stays.\n"
    assert in_replay(filled, data) == filled


def test_a_page_without_the_section_is_refused() -> None:
    with pytest.raises(SystemExit, match="no section"):
        in_replay("# A page\n", made_data(made_blocks()))


def test_the_documents_have_a_place_for_what_is_measured() -> None:
    data = made_data(made_blocks())
    replay = in_replay((DOCS / "results" / "replay.md").read_text(encoding="utf-8"), data)
    assert "\n".join(section(data)) in replay
    assert row(data) in in_results((DOCS / "results.md").read_text(encoding="utf-8"), data).splitlines()


def test_the_documents_tell_what_the_data_file_holds() -> None:
    replay = (DOCS / "results" / "replay.md").read_text(encoding="utf-8")
    assert (MARK in replay) == (DOCS / DATA).exists()
    if MARK in replay:
        data = json.loads((DOCS / DATA).read_text(encoding="utf-8"))
        assert in_replay(replay, data) == replay
        assert row(data) in (DOCS / "results.md").read_text(encoding="utf-8").splitlines()
