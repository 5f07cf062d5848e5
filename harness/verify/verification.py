"""How faithfully an archived page is replayed: what a load of it asked for, and how that was answered.

The judgement is pure. Loading the page stands below it; the reports are kept beside the recording.
"""

from __future__ import annotations

import itertools
import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from harness.engines.browserlog import Failure, Request
from harness.engines.fonts import by_script
from harness.errors import Outcome, RecordsError
from harness.lab.calibrate import check_link
from harness.model.condition import Condition
from harness.model.engine import DEFAULT_ENGINE, DESKTOP, Capability, Device, Engine
from harness.model.kind import SCREENSHOT
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.model.trials import PlannedTrial
from harness.model.variant import AS_ARCHIVED
from harness.probes.evidence import Evidence, ServerAnswers
from harness.probes.loadedpage import GLYPHS, PageConsole
from harness.probes.probe import TrialOptions
from harness.probes.timeline import page_requests
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.system.files import whole_file, write_whole
from harness.trial.trial import browser_lab, run_observed
from harness.verify.likeness import EngineFit, engine_fit
from sites.archive import Archive
from sites.archiveindex import Entry
from sites.asked import in_one_spelling, refused
from sites.coding import coding_of, decode
from sites.match import asked_keys
from sites.mediatype import HTML_TYPES, fits
from sites.requisites import peripheral_urls
from sites.servers.server import Match

SCHEMA = 1


@dataclass(frozen=True)
class ReplayQuality:
    """The requests of a page until the browser was closed, a while after its load event; each counts.

    Left out are requests that the page took back, and CORS questions.
    """

    page: str
    """name of the page"""
    variant: str
    """form of the page"""
    device: str
    """`desktop` or `mobile`"""
    protocol: str
    """how bytes travelled"""
    taken_utc: str
    """when it was loaded"""
    archive_digest: str | None
    """digest of the archive"""
    outcome: str
    """how the load ended"""
    reason: str | None
    """what happened, in words; null when the outcome is `ok`"""
    plt_ms: float | None
    """load time; null when the load failed"""
    asked: int
    """the page's requests until 4 s after the load event"""
    exact: int
    """requests answered as recorded"""
    closest: tuple[str, ...]
    """requests answered by the response of the closest query"""
    missed: tuple[str, ...]
    """requests not answered, or by the closest query with something of another kind"""
    core_asked: int
    """requests to GET that are no favicon or manifest"""
    core_missed: tuple[str, ...]
    """core requests not answered"""
    failed: tuple[str, ...]
    """requests that were answered, and refused by the browser"""
    bytes_served: int | None
    """bodies of the exact answers as they travelled; null: the engine does not tell"""
    bytes_recorded: int
    """bodies of the exact answers as recorded"""
    console_errors: tuple[str, ...] | None
    """errors of the console; null: the engine does not tell"""
    determinism: bool
    """whether the page got the same chance and date in every load"""
    compression: str
    """how text travelled"""
    engine: str
    """browser"""
    answered: tuple[str, ...]
    """URLs that were answered, each once"""
    without_glyph: tuple[str, ...]
    """text that no font could show, a line for each script"""

    @property
    def answered_percent(self) -> float | None:
        """Answered of all requests; None when there was none."""
        return _percent(self.asked - len(self.missed), self.asked)

    @property
    def core_percent(self) -> float | None:
        """Answered of the core requests; None when there was none."""
        return _percent(self.core_asked - len(self.core_missed), self.core_asked)

    @property
    def ok(self) -> bool:
        """Whether the page loaded and nothing of its core is missing."""
        return self.outcome == Outcome.OK and not self.core_missed

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ReplayQuality:
        """Inverse of `to_json`; ValueError, in one line, when a field is missing or of another type."""
        return msgspec.convert(data, cls)


def replay_quality(
    record: Record, evidence: Evidence | None, archive: Archive, replay: Replay | None = None
) -> ReplayQuality:
    """The quality of the replay in one trial of an archive, which was served with the settings `replay`."""
    settings = replay or Replay()
    asked = list(_asked(evidence, archive)) if evidence else []
    peripheral = peripheral_urls(archive)
    recorded = _recorded(archive)
    core = [(r, m) for r, m in asked if r.method == "GET" and r.address not in peripheral]
    exact = [request for request, match in asked if match is Match.EXACT]
    answered = [request for request, match in asked if match is not Match.MISS]
    condition = record.planned.condition
    return ReplayQuality(
        page=condition.page,
        variant=condition.variant.name,
        device=condition.device.name,
        protocol=condition.protocol.value,
        taken_utc=record.started_utc,
        archive_digest=record.archive_digest,
        outcome=record.outcome.value,
        reason=record.reason,
        plt_ms=record.observation.plt_ms,
        asked=len(asked),
        exact=len(exact),
        closest=tuple(request.url for request, match in asked if match is Match.CLOSEST),
        missed=tuple(_missed(request) for request, match in asked if match is Match.MISS),
        core_asked=len(core),
        core_missed=tuple(_missed(request) for request, match in core if match is Match.MISS),
        failed=tuple(_named(request) for request in answered if request.failure),
        bytes_served=_bytes_of(exact),
        bytes_recorded=sum(
            recorded[key].body_bytes for r in exact if (key := in_one_spelling(r.address)) in recorded
        ),
        console_errors=evidence.of(PageConsole).errors if evidence else None,
        determinism=settings.determinism,
        compression=str(settings.compression),
        engine=condition.engine.value,
        answered=tuple(dict.fromkeys(request.url.partition("#")[0] for request in answered)),
        without_glyph=tuple(by_script(evidence.of(PageConsole).without_glyph or {})) if evidence else (),
    )


def _asked(evidence: Evidence, archive: Archive) -> Iterator[tuple[Request, Match]]:
    """The requests that count, each with how it was answered."""
    origin = _Origin(archive)
    answers = {request.url: request.match for request in evidence.of(ServerAnswers).answered}
    for request in page_requests(evidence):
        match = answers.get(request.url.partition("#")[0])
        if match is None and refused(request.address):
            match = Match.MISS
        if request.method == "OPTIONS" or match is Match.PREFLIGHT:
            continue
        if match is None and request.failure in (None, Failure.ABORTED):
            continue
        misfits = match is Match.CLOSEST and not fits(request.accepts, request.mime)
        if misfits and not origin.answered_so(request):
            match = Match.MISS
        yield request, match or Match.MISS


class _Origin:
    """What the recorded servers themselves answered, for what a type alone does not tell."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._entries: dict[str, list[tuple[str, Entry]]] = {}
        for entry in archive.entries:
            target, path = _keys(entry.url.partition("://")[2])
            self._entries.setdefault(path, []).append((target, entry))

    def answered_so(self, request: Request) -> bool:
        """Whether an answer of this type was recorded for the same request but for numbers of the clock and of chance.

        Or, for any query of its path, what is called HTML and is none: JSONP and beacons are often sent so.
        """
        asked, path = _keys(request.address)
        alike = [(target, each) for target, each in self._entries.get(path, ()) if each.mime == request.mime]
        return any(target == asked for target, _ in alike) or any(
            self._is_misnamed(each) for _, each in alike
        )

    def _is_misnamed(self, entry: Entry) -> bool:
        if entry.mime not in HTML_TYPES:
            return False
        response = self._archive.read(entry)
        try:
            body = decode(response.body, coding_of(response.header("Content-Encoding")))
        except ValueError:
            return False
        return not body.removeprefix(BOM_UTF8).lstrip().startswith(b"<")


def _keys(address: str) -> tuple[str, str]:
    host, slash, target = address.partition("/")
    return asked_keys(host, slash + target)


def _recorded(archive: Archive) -> dict[str, Entry]:
    """The response of each URL that is served, by that in one spelling: the last with status 200, else the last."""
    entries: dict[str, Entry] = {}
    for entry in archive.entries:
        address = in_one_spelling(entry.url.partition("://")[2])
        before = entries.get(address)
        if before is None or entry.status == 200 or before.status != 200:
            entries[address] = entry
    return entries


def _named(request: Request) -> str:
    """The URL, with what else is to be said."""
    method = "" if request.method == "GET" else f" ({request.method})"
    error = f" ({request.error})" if request.failure else ""
    return f"{request.url}{method}{error}"


def _bytes_of(requests: Sequence[Request]) -> int | None:
    """The bodies of all requests; None when the engine tells of none."""
    known = [request.body_bytes for request in requests if request.body_bytes is not None]
    return sum(known) if known or not requests else None


def _missed(request: Request) -> str:
    """The URL of what was not answered, or by another kind of thing."""
    other = f" (answered with {request.mime})" if request.mime and not request.failed else ""
    return f"{_named(request)}{other}"


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


FOLDER = "verify"
LINK = Link.of(100, 10)
TIMEOUT_S = 60.0
LINGER_S = 4.0  # real pages go on asking after their load event


@dataclass(frozen=True)
class Verification:
    """One load: its report, and the screenshot if it came to that."""

    quality: ReplayQuality
    screenshot: bytes | None
    record: Record

    def against(self, reference: Verification) -> EngineFit:
        """Whether the page works here as it does in the engine of `reference`."""
        return engine_fit(self.record, reference.record, self.screenshot, reference.screenshot)


def verifications(
    archive: Archive,
    protocols: Iterable[Protocol],
    devices: Sequence[Device],
    *,
    replay: Replay | None = None,
    linger_s: float = LINGER_S,
    engine: Engine = DEFAULT_ENGINE,
) -> Iterator[Verification]:
    """Load the page of an archive once by each protocol on each device.

    Must run inside an enclosure. Raises MeasurementRefused when the link is off.
    """
    kept = (SCREENSHOT, GLYPHS) if engine.can(Capability.GLYPHS) else (SCREENSHOT,)
    options = TrialOptions(TIMEOUT_S, kept, linger_s)
    files = WORKSPACE / "verification"
    screenshot = files / "screenshot.png"
    protocols = tuple(protocols)
    with browser_lab(
        {AS_ARCHIVED.served_name(archive.name): archive}, protocols, replay=replay, engine=engine
    ) as opened:
        check_link(opened.testbed, LINK)
        for number, (device, protocol) in enumerate(itertools.product(devices, protocols), 1):
            condition = replace(
                Condition.usual(archive.name, protocol, LINK, engine),
                device=device,
                compression=(replay or Replay.usual(engine)).compression,
            )
            planned = PlannedTrial(f"{number:05d}", 1, number, condition)
            screenshot.unlink(missing_ok=True)
            record, evidence = run_observed(opened.testbed, opened.browsers, planned, options, files)
            shown = screenshot.read_bytes() if screenshot.exists() else None
            yield Verification(replay_quality(record, evidence, archive, replay), shown, record)


def reference_load(archive: Archive) -> Verification:
    """The page as the default engine loads it over plain HTTP/1.1: what other engines are held against."""
    return next(verifications(archive, [Protocol.HTTP1], [DESKTOP]))


def store(verification: Verification, archive: Archive) -> Path:
    """Keep a report and its screenshot with the archive, in place of the last of its kind; the report's path."""
    quality = verification.quality
    folder = archive.folder / FOLDER
    folder.mkdir(exist_ok=True)
    browser = "" if quality.engine == DEFAULT_ENGINE else f"-{quality.engine}"
    report = folder / f"{quality.device}-{quality.protocol}{browser}.json"
    picture = report.with_suffix(".png")
    if verification.screenshot is None:
        picture.unlink(missing_ok=True)
    else:
        with whole_file(picture) as file:
            file.write(verification.screenshot)
    write_whole(report, json.dumps(quality.to_json(), indent=1) + "\n")
    return report


def stored(archive: Archive) -> list[ReplayQuality]:
    """The reports kept with an archive, by device and protocol; RecordsError when one is damaged."""
    reports = []
    for path in sorted((archive.folder / FOLDER).glob("*.json")):
        try:
            reports.append(ReplayQuality.from_json(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError) as error:
            raise RecordsError(
                f"{path} is damaged ({error}); remove it, or `coldload verify {archive.name}`"
            ) from error
    return reports


def asked_for(archive: Archive, engine: Engine) -> tuple[str, ...] | None:
    """What a real load of the page in an engine asked for and got, on a desktop; None when no kept report tells."""
    reports = [
        report
        for report in stored(archive)
        if report.outcome == Outcome.OK
        and (report.engine, report.device, report.archive_digest) == (engine, DESKTOP.name, archive.digest)
    ]
    return max(reports, key=lambda each: each.taken_utc).answered if reports else None
