"""A live page beside its replay: loaded in turns in the same browser, the replay as far and as fast as the page is now.

    looks     the live page is loaded a few times, and its hosts are measured (harness.verify.survey)
    replay    a lab serves a copy of the archive with the addresses, distances and think times of this hour
    turns     live page and replay are loaded by turns; which turns count is decided by a pure function

The lab makes its own enclosure, in a process of its own; the live loads are made outside of any.
"""

from __future__ import annotations

import contextlib
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.engines.browsers import Browsers
from harness.errors import MeasurementRefused, Outcome
from harness.input.shown import Tell
from harness.lab.calibration import Calibration
from harness.lab.livehost import RATE_S, host_reading, resolved
from harness.model.engine import Device
from harness.model.protocol import Protocol
from harness.model.trials import USUAL_ATTEMPTS, PlannedTrial
from harness.model.variant import AS_ARCHIVED
from harness.records import Record
from harness.run.labprocess import Assignment, LabProcess, lab_process
from harness.run.work import Block, Due
from harness.study.metrics import machine_reasons
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from harness.verify.survey import ENGINE, PLAIN, LiveLoads, Survey, Web, surveyed
from sites.archive import Archive, write_archive
from sites.archiveindex import round_trips
from sites.response import Response
from sites.urls import parse_url
from sites.warc import About

CHANGED = 0.1  # share by which requests or bytes of a live load may differ from their medians
# What the replay speaks, by what carried most of the live requests; a cold browser learns of h3 on the way.
WIRES = {"h2": Protocol.H2, "h3": Protocol.H2, "http/1.1": Protocol.HTTPS1, PLAIN: Protocol.HTTP1}
AMOUNTS = {"requests": "requests", "bytes_body": "bytes of bodies"}


@dataclass(frozen=True)
class BesideOptions:
    """How a page is set beside its replay. What is None is measured (rates), or as the live page has it (protocol).

    `patient`: after a load that was disturbed it waits for a calm machine.
    """

    device: Device
    times: int = 10
    protocol: Protocol | None = None
    down_mbps: float | None = None
    up_mbps: float | None = None
    rate_s: float = RATE_S
    patient: bool = True


@dataclass(frozen=True)
class Turn:
    """A live load, and the load of the replay beside it."""

    number: int
    live: Record
    replay: Record


@dataclass
class Beside:
    """One live page beside its replay, up to the first turn."""

    survey: Survey
    study: Study
    live: LiveLoads
    lab: LabProcess
    plan: tuple[PlannedTrial, ...]
    watcher: Watching

    def turns(self) -> Iterator[Turn]:
        """By turns; which of the two comes first changes from turn to turn."""
        for planned in self.plan:
            self.watcher.tell(f"turn {planned.block} of {len(self.plan)}")
            if planned.block % 2:
                live, replayed = self._live(), self._replayed(planned)
            else:
                replayed, live = self._replayed(planned), self._live()
            yield Turn(planned.block, live, replayed)

    def _live(self) -> Record:
        """A live load, again where this machine disturbed it, as the lab does it with the replay."""
        for _ in range(USUAL_ATTEMPTS):
            record = self.live.load()[0]
            if record.left_out not in machine_reasons():
                break
        return record

    def _replayed(self, planned: PlannedTrial) -> Record:
        *_, last = self.lab.run(Block(planned.block, (Due(planned, 1, USUAL_ATTEMPTS),)))
        return last.record


@dataclass
class Watching:
    """Hears what a lab tells (harness.run.work.Watcher), and keeps its readings of the link."""

    tell: Tell
    readings: list[Calibration] = field(default_factory=list)

    def preparing(self, what: str) -> None:
        self.tell(what)

    def warned(self, what: str) -> None:
        self.tell(what)

    def waiting(self, seconds: float) -> None:
        self.tell(f"the machine is busy: waited for {seconds:.0f} s")

    def calibrated(self, reading: Calibration) -> None:
        self.readings.append(reading)

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None:
        """Turns are told."""


@contextlib.contextmanager
def beside(
    archive: Archive, url: str, web: Web, wanted: BesideOptions, folder: Path, tell: Tell
) -> Iterator[Beside]:
    """Set a page beside its replay for the length of the block; `folder` is empty, and no other user's.

    EnvironmentLacks when the page cannot be reached from here, MeasurementRefused when it does not load.
    """
    page, name = parse_url(url), archive.name
    with web.entered():
        tell(f"shaking hands with {page.host}")
        host_reading(page.host, resolved(page.host, page.port), 1)
    watcher = Watching(tell)
    with contextlib.ExitStack() as stack:
        browsers = Browsers(folder, stack, web.network)
        live = LiveLoads(browsers, web.venue(url, archive.hosts), name, wanted.device, folder / "kept")
        survey = surveyed(live, web, wanted.rate_s if wanted.down_mbps is None else None, tell)
        timed = timed_archive(archive, survey, folder / "archives")
        study = study_of(name, url, nearest_ms(timed), survey, wanted)
        plan = make_plan(study, 1).trials
        lab = stack.enter_context(lab_process(watcher, folder / "lab.log"))
        served = {ENGINE: {AS_ARCHIVED.served_name(name): timed.folder}}
        lab.open(Assignment(study, served, plan, run=folder, files=folder, patient=wanted.patient))
        yield Beside(survey, study, live, lab, plan, watcher)


def nearest_ms(timed: Archive) -> float:
    """The round trip to the nearest host of an archive, which is that of the link: distances are reckoned from it. The
    live page may have a nearer one, which is not archived.
    """
    return min(round_trips(timed.entries).values())


def study_of(name: str, url: str, rtt_ms: float, survey: Survey, wanted: BesideOptions) -> Study:
    """The study whose trials are the replay's turns. MeasurementRefused where too little came to tell a rate."""
    down = wanted.down_mbps or survey.mbps
    if down is None:
        raise MeasurementRefused(
            f"the objects of {url} are too small to tell a rate by; give that of your access link, --down-mbps"
        )
    wire = max(survey.protocols, key=lambda each: survey.protocols[each], default="h2")
    protocol = wanted.protocol or WIRES.get(wire, Protocol.H2)
    thinks = protocol is not Protocol.H3
    near = survey.look_up_ms is not None and survey.look_up_ms < rtt_ms / 2
    text = f"""
        name = "live"
        pages = [{json.dumps(name)}]
        protocols = ["{protocol}"]
        server = "{"nginx" if thinks else "caddy"}"
        trials = {{least = {wanted.times}, attempts = {USUAL_ATTEMPTS}}}
        device = "{wanted.device}"
        origins = "recorded"
        distance = "recorded"
        think_time = "{"recorded" if thinks else "none"}"
        dns = "{"client" if near else "server"}"
        aa = false
        portraits = false
        seed = 1
        [[links]]
        name = "measured"
        down_mbps = {round(down, 3)}
        up_mbps = {round(wanted.up_mbps or down, 3)}
        rtt_ms = {rtt_ms}
        """
    return parse_study(text, "the replay beside the live page")


def timed_archive(archive: Archive, survey: Survey, root: Path) -> Archive:
    """A copy with the addresses, distances and think times of this hour. A host that was not measured is as far as the
    measured one at its recorded address. Without one it is as near as the nearest host, at an address of its own. What
    the live page does not ask for is answered at once. The scheme of its URLs may be another by now.
    """
    at = {host.host: host for host in survey.hosts}
    at_address = {host.reached[0]: host for host in survey.hosts}
    thinks = {_beyond_scheme(url): think_ms for url, think_ms in survey.think_ms.items()}

    def timed(response: Response) -> Response:
        reading = at.get(parse_url(response.url).host) or at_address.get(response.ip or "")
        told = survey.nearest_ms if reading is None else reading.least_ms
        think_ms = thinks.get(_beyond_scheme(response.url))
        return replace(
            response,
            ip=None if reading is None else reading.reached[0],
            connect_ms=round(told, 3),
            wait_ms=None if think_ms is None else round(told + think_ms, 3),  # as recorders have it
        )

    responses = map(timed, archive.responses())
    about = About(archive.start_url, archive.captured_with, archive.user_agent, archive.notes)
    return write_archive(root, archive.name, about, responses)


def _beyond_scheme(url: str) -> str:
    return url.partition(":")[2]


def counted(turns: Sequence[Turn]) -> tuple[list[Turn], list[str]]:
    """The turns that count, and why others do not. Pure.

    A live load counts when as much came as in most live loads: a page that has changed is another page.
    """
    sound = [turn.live for turn in turns if turn.live.left_out is None and turn.live.outcome is Outcome.OK]
    usual = {key: statistics.median(_known(sound, key) or [0]) for key in ("requests", "bytes_body")}
    kept, left_out = [], []
    for turn in turns:
        why = _ending("live", turn.live) or _ending("replay", turn.replay) or _changed(turn.live, usual)
        if why:
            left_out.append(f"turn {turn.number}: {why}")
        else:
            kept.append(turn)
    return kept, left_out


def _known(records: Iterable[Record], key: str) -> list[float]:
    return [value for record in records if (value := getattr(record.observation, key)) is not None]


def _ending(which: str, record: Record) -> str:
    if record.outcome is not Outcome.OK:
        return f"{which}: {record.outcome}: {record.reason}"
    return f"{which}: {record.left_out}" if record.left_out else ""


def _changed(record: Record, usual: Mapping[str, float]) -> str:
    for key, middle in usual.items():
        value = getattr(record.observation, key)
        if value is not None and abs(value - middle) > CHANGED * middle:
            return f"the live page changed: {value:,} {AMOUNTS[key]}, usually {middle:,.0f}"
    return ""
