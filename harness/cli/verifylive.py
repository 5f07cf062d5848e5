"""`coldload verify --live`: a live page beside its replay, with the error of the replay."""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

import numpy as np

from analysis.labels import words
from analysis.statistics import LEAST_LEVELS
from analysis.statistics.compare import Certainty, Comparison, described
from analysis.statistics.contrast import Sample, contrast, mean_of
from analysis.statistics.estimate import estimate
from analysis.statistics.plainly import signed, value_text
from harness.cli.failures import refuse_stalled
from harness.cli.telling import console, say, telling
from harness.errors import MeasurementRefused, UsageError
from harness.input.shown import brief
from harness.model.engine import DESKTOP, DEVICES
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.study.metrics import metric_named
from harness.system.enclosure import folder_for_an_enclosure
from harness.system.files import utc_now, write_whole
from harness.verify.live import Beside, BesideOptions, Turn, beside, counted
from harness.verify.survey import ENGINE, Survey, Web
from sites.archive import Archive, archives_root, open_archive
from sites.urls import canonical_url

METRICS = ("plt_ms", "ttfb_ms", "fcp_ms", "requests", "bytes_body")
FOLDER, SCHEMA = "live", 1  # of an archive
USUAL_TIMES = 10
LEFT_OUT_SHARE = 0.5  # of the turns of a page, above which it tells nothing
UNKNOWN_UP = "as down, nothing measures it"


@dataclass(frozen=True)
class Errors:
    """The replay of one page against the live page: by metric the log ratio of each turn that counts."""

    page: str
    ratios: Mapping[str, Sample]

    @classmethod
    def of(cls, page: str, turns: Sequence[Turn]) -> Errors:
        ratios = {key: [math.log(replay / live) for live, replay in pairs(turns, key)] for key in METRICS}
        return cls(page, {key: np.array(values) for key, values in ratios.items() if values})

    def compared(self) -> dict[str, Comparison]:
        """The error of each metric that was observed, in METRICS' order."""
        return {
            key: described(contrast(each), each.size, 1, Certainty()) for key, each in self.ratios.items()
        }


def pairs(turns: Sequence[Turn], key: str) -> list[tuple[float, float]]:
    """A metric live and replayed, of each turn that has both above 0."""
    both = ((getattr(turn.live.observation, key), getattr(turn.replay.observation, key)) for turn in turns)
    return [(live, replay) for live, replay in both if live and replay]


def over_pages(errors: Sequence[Errors]) -> dict[str, Comparison]:
    """Of each metric the mean over pages, which are a sample of their kind: LEAST_LEVELS of them at least."""
    comparisons = {}
    for key in METRICS:
        told = [page_errors.ratios[key] for page_errors in errors if key in page_errors.ratios]
        if len(told) >= LEAST_LEVELS:
            n = sum(sample.size for sample in told)
            comparisons[key] = described(mean_of([*map(contrast, told)]), n, 1, Certainty(), len(told))
    return comparisons


def verify_live(arguments: argparse.Namespace, replay: Replay) -> int:
    """Measure each page beside its replay; 1 when a page has too few turns that count."""
    refuse_stalled()
    url, wanted = _url(arguments), _wanted(arguments, replay)
    archives = [open_archive(archives_root(), name) for name in arguments.names]
    errors: list[Errors] = []
    refused: list[str] = []
    for archive in archives:
        try:
            errors.append(_page(archive, url or archive.start_url, wanted))
        except MeasurementRefused as refusal:
            if len(archives) == 1:
                raise
            refused.append(f"{archive.name}: {refusal}")
            say(f"{refused[-1]}\n")
    if len(archives) > 1:
        for line in page_lines(errors):
            say(line)
    return 1 if refused else 0


def _url(arguments: argparse.Namespace) -> str:
    """The address given; "" for those that the archives have."""
    if not arguments.live:
        return ""
    if len(arguments.names) > 1:
        raise UsageError(
            "--live URL is of one page; with several pages each has the address that it was archived at"
        )
    return canonical_url(arguments.live)


def _wanted(arguments: argparse.Namespace, replay: Replay) -> BesideOptions:
    given = [name for name in ("variant", "settings", "keep", "no_mend") if getattr(arguments, name)]
    if given or replay != Replay.usual(ENGINE) or arguments.engine not in (None, ENGINE):
        raise UsageError(
            f"--live loads pages as archived in {ENGINE}; leave out --variant, --set, --keep, --no-mend, "
            "--determinism, --compression and other engines"
        )
    times = USUAL_TIMES if arguments.times is None else arguments.times
    if not 1 <= times <= 1000:
        raise UsageError(f"--times {times} makes no sense; give 1 to 1000")
    return BesideOptions(
        device=DEVICES[arguments.device] if arguments.device else DESKTOP,
        times=times,
        protocol=Protocol(arguments.protocol) if arguments.protocol else None,
        down_mbps=arguments.down_mbps,
        up_mbps=arguments.up_mbps,
    )


def _page(archive: Archive, url: str, wanted: BesideOptions) -> Errors:
    """Measure one page, print what came of it, and keep that with the archive."""
    say(f"{archive.name}: {url} beside its replay, {words.count(wanted.times, 'turn')}")
    with (
        folder_for_an_enclosure() as folder,
        telling("measuring") as tell,
        beside(archive, url, Web(), wanted, folder, tell) as opened,
    ):
        turns = list(opened.turns())
    kept, left_out = counted(turns)
    errors = Errors.of(archive.name, kept)
    for line in (*survey_lines(opened.survey), link_line(opened, wanted)):
        say(f"  {line}")
    console().print(_table(kept, errors))
    for line in left_out:
        say(f"  left out: {brief(line, 200)}")
    path = archive.folder / FOLDER / f"{utc_now().replace(':', '')}.json"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, json.dumps(to_json(archive, url, opened, turns, left_out, errors), indent=1) + "\n")
    say(f"  kept in {path}\n")
    if len(left_out) > LEFT_OUT_SHARE * len(turns):
        raise MeasurementRefused(
            f"{len(left_out)} of {words.count(len(turns), 'turn')} do not count, so the error is not known: "
            f"{left_out[0]}"
        )
    return errors


def survey_lines(survey: Survey) -> Iterator[str]:
    """What was measured of the page's hosts."""
    far = sorted(survey.hosts, key=lambda host: host.least_ms)
    yield (
        f"{words.count(len(far), 'host')} measured, round trips of {far[0].least_ms:.1f} ms ({far[0].host}) to "
        f"{far[-1].least_ms:.1f} ms ({far[-1].host})"
    )
    yield from (
        f"not measured, and replayed as near as the nearest: {brief(reason, 160)}"
        for reason in survey.unmeasured
    )
    spoken = ", ".join(f"{count} by {name}" for name, count in survey.protocols.items())
    yield f"requests of the live looks: {spoken}"


def link_line(opened: Beside, wanted: BesideOptions) -> str:
    """The replay's link, and where its numbers come from."""
    link = opened.study.links[0]
    source = "given" if wanted.down_mbps else f"at least, from {len(opened.survey.rates)} hosts"
    up = "given" if wanted.up_mbps else UNKNOWN_UP
    return (
        f"replay by {opened.study.protocols[0]}, {link.down.rate.mean_mbps:.4g} Mbit/s down ({source}), "
        f"{link.up.rate.mean_mbps:.4g} up ({up}), {link.rtt_ms:.1f} ms and each host's distance"
    )


def _table(kept: Sequence[Turn], errors: Errors) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title=None)
    for column in ("", "live", "spread", "replay", "error", "95 % interval"):
        table.add_column(column, justify="left" if not column else "right", no_wrap=True)
    for key, error in errors.compared().items():
        live, replay = (estimate([pair[side] for pair in pairs(kept, key)]) for side in (0, 1))
        table.add_row(
            f"  {label(key)}",
            value_text(live.median, key),
            f"{100 * live.cv:.1f} %" if live.n > 1 else "-",
            value_text(replay.median, key),
            f"{signed(error.ratio)} %",
            interval(error),
        )
    return table


def label(key: str) -> str:
    metric = metric_named(key)
    return metric.label if metric else key


def interval(error: Comparison) -> str:
    """`-0.5 to +3.1 %`; a dash where too few turns count."""
    return "-" if math.isnan(error.low) else f"{signed(error.low)} to {signed(error.high)} %"


def page_lines(errors: Sequence[Errors]) -> Iterator[str]:
    """How far the replay is off over pages: in which direction, and how much."""
    over = over_pages(errors)
    for key in METRICS:
        centres = {
            page_errors.page: contrast(page_errors.ratios[key]).centre
            for page_errors in errors
            if key in page_errors.ratios
        }
        if not centres:
            continue
        sizes = {page: abs(math.expm1(centre)) for page, centre in centres.items()}
        worst = max(sizes, key=lambda page: sizes[page])
        mean = f"{signed(over[key].ratio)} % on average ({interval(over[key])}), " if key in over else ""
        yield (
            f"{label(key)}: {mean}off by {100 * statistics.median(sizes.values()):.1f} % at the median of "
            f"{words.count(len(sizes), 'page')}, {100 * sizes[worst]:.1f} % at most ({worst})"
        )


class LiveReport(TypedDict):
    """live/<UTC>.json of an archive: what was measured, each turn, and the error of the replay."""

    schema: int
    """version of the format"""
    page: str
    """name of the page"""
    url: str
    """its URL on the live web"""
    archive_digest: str
    """digest of the archive"""
    taken_utc: str
    """when it was measured"""
    hosts: list[dict[str, Any]]
    """round trips to each host, as below, with `least_ms` and `median_ms`"""
    unmeasured: list[str]
    """hosts without a round trip, with the reason"""
    rates: list[dict[str, Any]]
    """rate of each object that was asked for, as below"""
    look_up_ms: float | None
    """median look-up of a name"""
    think_ms: dict[str, float]
    """how long the server thought, by URL"""
    protocol: str
    """how bytes travelled in the replay"""
    link: dict[str, Any]
    """link of the replay, as in a condition"""
    calibration: dict[str, Any] | None
    """reading of that link, as in calibration.jsonl"""
    turns: list[dict[str, Any]]
    """number (`turn`), and outcome and metrics of the `live` load and of the `replay`"""
    left_out: list[str]
    """turns that do not count, with the reason"""
    errors: dict[str, dict[str, Any]]
    """error of the replay by metric: `ratio`, `low`, `high`, `turns`"""


def to_json(
    archive: Archive, url: str, opened: Beside, turns: Sequence[Turn], left_out: Sequence[str], errors: Errors
) -> LiveReport:
    survey, study = opened.survey, opened.study
    keys = ("plt_ms", "ttfb_ms", "fcp_ms", "requests", "bytes_body", "connections", "protocols")

    def load(record: Any) -> dict[str, Any]:
        told = {key: getattr(record.observation, key) for key in keys}
        return {"outcome": record.outcome.value, "reason": record.reason, "left_out": record.left_out, **told}

    return {
        "schema": SCHEMA,
        "page": archive.name,
        "url": url,
        "archive_digest": archive.digest,
        "taken_utc": utc_now(),
        "hosts": [
            {**asdict(host), "least_ms": host.least_ms, "median_ms": host.median_ms} for host in survey.hosts
        ],
        "unmeasured": list(survey.unmeasured),
        "rates": [asdict(rate) for rate in survey.rates],
        "look_up_ms": survey.look_up_ms,
        "think_ms": dict(survey.think_ms),
        "protocol": study.protocols[0].value,
        "link": study.links[0].to_json(),
        "calibration": opened.watcher.readings[-1].to_json() if opened.watcher.readings else None,
        "turns": [
            {"turn": turn.number, "live": load(turn.live), "replay": load(turn.replay)} for turn in turns
        ],
        "left_out": list(left_out),
        "errors": {
            key: {"ratio": each.ratio, "low": _number(each.low), "high": _number(each.high), "turns": each.n}
            for key, each in errors.compared().items()
        },
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
