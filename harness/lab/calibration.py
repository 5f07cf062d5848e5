"""A measurement of a link: over one that was made for it, as one for a trial is; what it saw, whether the link may be
used, and how long one that seems off is measured again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from harness.errors import MeasurementRefused, TestbedFailed
from harness.lab.machine import Calm
from harness.model.link import MTU_BYTES, Direction, Link
from harness.model.rate import RateFormat, RecordedRate
from harness.system.files import utc_now

if TYPE_CHECKING:
    from harness.lab.testbed import Client, Testbed

CALIBRATION_SCHEMA = 2
AT_ONCE = 3  # measurements before anybody looks at the machine
WHILE_CALM = 4  # of a link that stays off on a calm machine: it is the link
PATIENCE_S = 5 * 60.0  # that a link is waited for in all
PROBE_ADDRESS = (
    "10.0.255.254"  # of the server host; its servers (`harness.lab.testbed`) count up from 10.0.0.0
)
CODEL_TRAIN_SECONDS = 0.08  # CoDel drops nothing in its first interval of 100 ms
PROBE_BYTES = 60  # of packets one way

# How far a reading may be off before the run stops. The scheduler of an ordinary user is coarser than the
# emulator's accuracy, hence the absolute parts.
RATE_TOLERANCE_SHARE = 0.02
TRAIN_TOLERANCE_MS = 0.2  # of the time between first and last packet of a train


@dataclass(frozen=True)
class CalibratedFigure:
    """One configured figure and its measurement."""

    what: str
    """what was measured, in words"""
    unit: str
    """unit of the figure"""
    configured: float
    """what it should be; of a trace or step list what these packets should have got at their time"""
    measured: float
    """what it was"""
    n: int
    """number of observations: packets, or clients"""
    tolerance: float
    """what it may be off by"""
    p99: float | None = None
    """99th percentile where single observations are meaningful; null for others"""

    @property
    def error(self) -> float:
        return self.measured - self.configured

    @property
    def off(self) -> bool:
        return not abs(self.error) <= self.tolerance  # also when the measurement is not a number

    def __str__(self) -> str:
        return (
            f"{self.what} {self.measured:.4g} {self.unit} instead of {self.configured:.4g} {self.unit} "
            f"(off by {self.error:+.3g}, tolerance {self.tolerance:.3g})"
        )


CalibratedFigures = Iterator[tuple[str, CalibratedFigure]]  # by name


def fitting_packets(direction: Direction) -> int | None:
    """How many full packets the empty link takes in at once; None where its queue has no limit.

    One of them is in transmission and has left the queue. With a trace it waits there for its opportunity.
    """
    rate, limit = direction.rate, direction.queue.limit_bytes
    if limit is None:
        return None
    waits = isinstance(rate, RecordedRate) and rate.format is RateFormat.TRACE
    return limit // MTU_BYTES + (0 if waits else 1)


@dataclass(frozen=True)
class Calibration:
    """What one calibration saw. `figures` are by name, as in calibration.jsonl; times are without serialisation."""

    link: Link
    device: str
    scheduling: str | None
    taken_utc: str
    figures: dict[str, CalibratedFigure] = field(hash=False)

    @property
    def complaints(self) -> tuple[str, ...]:
        """Each figure that is out of tolerance, in words; nothing when the link may be used."""
        return tuple(str(figure) for figure in self.figures.values() if figure.off)

    def to_json(self) -> dict[str, Any]:
        kept = {
            name: {key: value for key, value in asdict(figure).items() if key not in ("what", "unit")}
            for name, figure in self.figures.items()
        }
        return {
            "schema": CALIBRATION_SCHEMA,
            "link": self.link.to_json(),
            "backend": self.device,
            "scheduling": self.scheduling,
            **kept,
            "ok": not self.complaints,
            "complaints": list(self.complaints),
            "taken_utc": self.taken_utc,
        }


def measured(
    testbed: Testbed,
    link: Link,
    figures_of: Callable[[Client], CalibratedFigures],
    clients: int = 1,
    distances_ms: Mapping[str, float] | None = None,
) -> Calibration:
    """What `figures_of` finds over a fresh link with so many clients."""
    testbed.server.configure(f"addr replace {PROBE_ADDRESS}/32 dev lo")
    with (
        testbed.client(link, count=clients, distances_ms=distances_ms) as client,
        blamed(testbed, client),
    ):
        figures = dict(figures_of(client))
        reading = client.link.reading()
    return Calibration(
        link=link,
        device=reading["backend"],
        scheduling=reading["scheduling"],
        taken_utc=utc_now(),
        figures=figures,
    )


@contextlib.contextmanager
def blamed(testbed: Testbed, client: Client) -> Iterator[None]:
    """A part that has died or is stopped by the end is the reason, whatever was measured, or failed to be."""
    try:
        yield
    except (TestbedFailed, OSError) as error:
        _check_parts(testbed, client)
        if isinstance(error, TestbedFailed):
            raise
        raise TestbedFailed(f"a link could not be measured: {error}") from error
    _check_parts(testbed, client)


def _check_parts(testbed: Testbed, client: Client) -> None:
    try:
        client.link.examine()  # its device goes a little before the process
        testbed.check()
    except TestbedFailed as failure:
        raise TestbedFailed(f"while a link was measured: {failure}") from failure


def refuse_if_off(readings: Sequence[Calibration]) -> None:
    """Raise MeasurementRefused when any link is out of tolerance; says which and by how much."""
    off = [
        f"{reading.link.name}: {'; '.join(reading.complaints)}" for reading in readings if reading.complaints
    ]
    if off:
        raise MeasurementRefused(
            f"the emulated link is not what it should be, nothing was measured over it ({' | '.join(off)}); "
            "free the machine of other work and try again"
        )


@dataclass
class Patience:
    """How long a link is measured again. `waiting` is told every second of a wait how long it has taken."""

    calm: Calm = field(default_factory=lambda: Calm(left_s=PATIENCE_S))
    waiting: Callable[[float], None] = lambda _: None

    def until_right(self, measure: Callable[[], Calibration]) -> Iterator[Calibration]:
        """Measurements until one has no complaints; the last one counts.

        A spell in which other work on the machine delays packets passes, so that it is waited for; a link that is not
        what it should be stays so while the machine is calm.
        """
        for _ in range(AT_ONCE):
            taken = measure()
            yield taken
            if not taken.complaints:
                return
        off_while_calm = 0
        while off_while_calm < WHILE_CALM:
            calm = self.calm.wait(self.waiting)
            taken = measure()
            yield taken
            if not taken.complaints or (not calm and self.calm.left_s <= 0):
                return
            off_while_calm += calm
