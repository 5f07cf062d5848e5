"""The section "Beside Mahimahi" of docs/results/replay.md and the row of docs/results.md, made from the data file."""

from __future__ import annotations

import json
import re
import statistics
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.mahimahicauses import Arm, Told, arm_rows, blocks_of, cause_rows, table

HEAD = "## Beside Mahimahi"
DATA = Path("results", "data", "mahimahi.json")
WIDTH = 150
QUESTION = "| Does another tool see the same time? |"
NAMES = {"bbr": "BBR", "cubic": "CUBIC", "reno": "Reno"}
BUILT = "here commit ae477d4, with `ifb` for the device type `dummy`, which this kernel lacks"


def section(data: Mapping[str, Any]) -> list[str]:
    """The lines of the section, its heading first."""
    blocks = blocks_of(data)
    return [
        HEAD,
        *wrapped(_answer(data)),
        "",
        *wrapped(_setting(data)),
        "",
        "<!-- of data/mahimahi.json -->",
        *table(arm_rows(blocks)),
        "",
        *table(cause_rows(blocks)),
        "<!-- end -->",
        "",
        *(line for item in _items(data) for line in wrapped(f"- {item}", "  ")),
    ]


def row(data: Mapping[str, Any]) -> str:
    """What docs/results.md tells of it."""
    answer = (
        f"On one page over HTTP/1.1 Mahimahi takes {_ratio(data, Arm.MAHIMAHI)} times as long, and with our "
        f"congestion control {_ratio(data, Arm.BOTH)}"
    )
    return f"{QUESTION} {answer} | [beside Mahimahi](results/replay.md#beside-mahimahi) |"


def in_replay(text: str, data: Mapping[str, Any]) -> str:
    """The page with this section in place of the one that it has, of which the mark of its age stays."""
    before, heading, rest = text.partition(f"{HEAD}\n")
    if not heading:
        raise SystemExit(f"the page has no section {HEAD!r}")
    was, *after = re.split(r"(?=\n## )", rest, maxsplit=1)
    _, *age = re.split(r"(?=\n<!-- changes after )", was, maxsplit=1)
    return before + "\n".join(section(data)) + "\n" + "".join((*age, *after))


def in_results(text: str, data: Mapping[str, Any]) -> str:
    """The page with this row in place of the one that it has."""
    filled, count = re.subn(rf"^{re.escape(QUESTION)}.*$", lambda _: row(data), text, flags=re.MULTILINE)
    if count != 1:
        raise SystemExit(f"the page has {count} rows {QUESTION!r}")
    return filled


def write(data: Mapping[str, Any], docs: Path) -> None:
    """The data, and what the documents tell of them."""
    (docs / DATA).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    for page, fill in ((docs / "results" / "replay.md", in_replay), (docs / "results.md", in_results)):
        page.write_text(fill(page.read_text(encoding="utf-8"), data), encoding="utf-8")


def wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _ratio(data: Mapping[str, Any], arm: Arm) -> Told:
    return Told.of(blocks_of(data), {arm: 1, Arm.HERE: -1})


def _median(data: Mapping[str, Any], arm: Arm, what: str) -> float:
    return float(statistics.median(getattr(block[arm], what) for block in blocks_of(data)))


def _answer(data: Mapping[str, Any]) -> str:
    medians = _median(data, Arm.MAHIMAHI, "plt_ms") / _median(data, Arm.HERE, "plt_ms")
    whole, both = _ratio(data, Arm.MAHIMAHI), _ratio(data, Arm.BOTH)
    return (
        f"Mahimahi takes {whole.ratio:.3f} times as long as a trial here (95 % interval {whole.low:.3f} to "
        f"{whole.high:.3f}), and {both.ratio:.3f} times ({both.low:.3f} to {both.high:.3f}) where it has our "
        f"congestion control. These are ratios of pairs, one for each block, by the statistic of reports. The ratio "
        f"of the two medians is {medians:.3f}."
    )


def _setting(data: Mapping[str, Any]) -> str:
    machine, link, load = data["machine"], data["link"], data["load_average"]
    return (
        f"The same archive, browser and link settings, loads in turn: `python -m benchmarks.mahimahi --programs DIR "
        f"--into docs`, which says what must be built by hand ({BUILT}). {data['date']}, {machine['processor']}, "
        f"{machine['cores']} cores, load average {load['before'][0]:.1f} before and {load['after'][0]:.1f} after; "
        f"{data['page']} over HTTP/1.1, {link['down_mbps']:g} Mbit/s, {link['rtt_ms']:g} ms. Each block has one load "
        f"of every arm, in random order; {len(data['blocks'])} of {data['planned']} blocks are whole. Times are "
        f"medians."
    )


def _items(data: Mapping[str, Any]) -> Iterator[str]:
    delays, control = data["delays"], data["congestion_control"]
    farther = max(0.0, delays["connect_there_ms"] - delays["connect_here_ms"])
    slower = max(0.0, delays["answer_there_ms"] - delays["answer_here_ms"])
    here, there = (NAMES.get(control[side], control[side]) for side in ("here", "there"))
    yield (
        f"**Congestion control**: Mahimahi's hosts have that of the machine, which is {there}; ours have {here} on "
        f"any machine. Only the arm `{Arm.MAHIMAHI.label}` is as it comes; others with its link are given {here}, too."
    )
    yield (
        f"**The link** is `mm-delay` with `mm-link` inside. It counts in whole ms, and a packet waits for the next "
        f"slot of the trace: a TCP connect takes {delays['connect_there_ms']:.1f} ms over it, and "
        f"{delays['connect_here_ms']:.1f} ms over ours. In the arm `{Arm.FAR.label}` our link is {farther:.1f} ms "
        f"longer. Its queue has no limit; ours dropped {_median(data, Arm.HERE, 'lost'):g} packets of a load."
    )
    yield (
        f"**The server**, `mm-webreplay`, starts a process for each request, which reads the whole recording. An "
        f"answer takes {delays['answer_there_ms']:.1f} ms on the server's own host, and "
        f"{delays['answer_here_ms']:.1f} ms here; in the arm `{Arm.SLOW.label}` our server waits "
        f"{slower:.1f} ms before each answer."
    )
    yield (
        f"**Processes**: its Apache begins with five, each of which serves one connection, and starts another within a "
        f"second; Chromium opens six connections. The request that waits longest waits "
        f"{_median(data, Arm.MAHIMAHI, 'longest_ms'):,.0f} ms there and "
        f"{_median(data, Arm.HERE, 'longest_ms'):,.0f} ms here. In the arm `{Arm.PROCESSES.label}` our "
        f"server begins with five, too."
    )
    yield (
        "**Shares** are of mean log ratios, so they add up to 100 %. Link and server are crossed in four arms; what "
        "each makes is the mean of what it makes with the other one ours and Mahimahi's. `all else of it` is what the "
        "parts above it leave. Where an interval holds 1, it is not shown that the part makes any difference."
    )
    yield (
        f"**Proofs**: only the loads of the arm `{Arm.HERE.label}` are trials, with proofs of link and protocol. All "
        "others are loads by the same browser without them."
    )
