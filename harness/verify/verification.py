"""Loads an archived page to tell how faithfully it is replayed; the reports are kept beside the recording."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RecordsError
from harness.lab.calibrate import check_link
from harness.model.condition import Condition, Origins
from harness.model.device import DESKTOP, Device
from harness.model.engine import DEFAULT_ENGINE, Engine
from harness.model.link import Link
from harness.model.plan import PlannedTrial
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.model.variant import AS_ARCHIVED
from harness.outcome import Outcome
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.system.files import write_whole
from harness.trial.bench import bench
from harness.trial.trial import TrialOptions, run_observed
from harness.verify.likeness import EngineFit, engine_fit
from harness.verify.replayquality import ReplayQuality, replay_quality
from sites.archive import Archive

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
    # The historical engine does not tell which font shows a text.
    kept = ("screenshot", "glyphs") if engine is DEFAULT_ENGINE else ("screenshot",)
    options = TrialOptions(TIMEOUT_S, kept, linger_s)
    files = WORKSPACE / "verification"
    screenshot = files / "screenshot.png"
    protocols = tuple(protocols)
    with bench(
        {AS_ARCHIVED.served_name(archive.name): archive}, protocols, replay=replay, engine=engine
    ) as opened:
        check_link(opened.testbed, LINK)
        for number, (device, protocol) in enumerate(itertools.product(devices, protocols), 1):
            condition = Condition(
                page=archive.name,
                variant=AS_ARCHIVED,
                protocol=protocol,
                link=LINK,
                engine=engine,
                driver=engine.drivers[0],
                origins=Origins.SINGLE,
                server=engine.traits.server,
                device=device,
                compression=(replay or Replay.usual(engine)).compression,
            )
            planned = PlannedTrial(f"{number:05d}", 1, number, condition)
            screenshot.unlink(missing_ok=True)
            record, evidence = run_observed(opened.testbed, opened.drivers, planned, options, files)
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
    picture.unlink(missing_ok=True)
    if verification.screenshot is not None:
        picture.write_bytes(verification.screenshot)
    write_whole(report, json.dumps(quality.to_json(), indent=1) + "\n")
    return report


def stored(archive: Archive) -> list[ReplayQuality]:
    """The reports kept with an archive, by device and protocol; RecordsError when one is damaged."""
    found = []
    for path in sorted((archive.folder / FOLDER).glob("*.json")):
        try:
            found.append(ReplayQuality.from_json(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError) as error:
            raise RecordsError(
                f"{path} is damaged ({error}); remove it, or `coldload verify {archive.name}`"
            ) from error
    return found


def asked_for(archive: Archive, engine: Engine) -> tuple[str, ...] | None:
    """What a real load of the page in an engine asked for and got, on a desktop; None when no kept report tells."""
    reports = [
        each
        for each in stored(archive)
        if each.outcome == Outcome.OK
        and each.answered is not None
        and (each.engine, each.device, each.archive_digest) == (engine, DESKTOP.name, archive.digest)
    ]
    return max(reports, key=lambda each: each.taken_utc).answered if reports else None
