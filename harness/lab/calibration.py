"""A measurement of a link: over one that was made for it, as one for a trial is; what it saw, whether the link may be
used, and how long one that seems off is measured again.
"""

from __future__ import annotations

import contextlib
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from harness.errors import MeasurementRefused, TestbedFailed
from harness.lab.machine import Calm
from harness.model.link import MTU_BYTES, Direction, Discipline, GilbertElliott, Link, Loss
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
LOSS_REFUSED = 1 / 16_000  # of the readings of a link that loses what it should
LOSS_PACKET_BYTES = 60
LOSS_GAP_S, LOSS_LOAD = 0.0005, 0.5  # between packets at least; of the rate at most, so that no queue fills
# So many packets are sent that half the loss, or half as much again, is six standard deviations off: a link that is off
# must be so in each of many readings.
LOSS_APART, LOSS_SIGMAS = 0.5, 6.0
MOST_CORRELATED = 0.999  # of the fates of two packets in a row; for more there is no time anyway
DRAWS = 2**31  # of losses and jitter; each measurement has one of its own


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
    """what it may be off by; of a loss, to the side it is off to"""
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


class PacketsLost(TestbedFailed):
    """Packets did not arrive that a right link carries. It may be the machine's fault: a reading that is off."""

    def __init__(self, what: str, sent: int, arrived: int) -> None:
        self.figure = CalibratedFigure(f"arrivals of {what}", "packets", sent, arrived, sent, 0)
        super().__init__(str(self.figure))


def fitting_packets(direction: Direction) -> int | None:
    """How many full packets the empty link takes in at once; None where its queue has no limit.

    One of them is in transmission and has left the queue. With a trace it waits there for its opportunity.
    """
    rate, limit = direction.rate, direction.queue.limit_bytes
    if limit is None:
        return None
    waits = isinstance(rate, RecordedRate) and rate.format is RateFormat.TRACE
    return limit // MTU_BYTES + (0 if waits else 1)


def loss_pace(direction: Direction, least: int, most_s: float) -> tuple[int, float]:
    """How many small packets tell the loss of a direction, and their gap in s.

    As many as show a loss that is off by `LOSS_APART` of what it should be, more where losses come in bursts; `least`
    or more of them, and for no more than `most_s` unless the least take longer. Where the rate is a trace or list of
    steps, no more than its queue takes while nothing leaves.
    """
    gap_s = max(LOSS_GAP_S, LOSS_PACKET_BYTES * 8 / (direction.rate.mean_mbps * 1e6 * LOSS_LOAD))
    chance = direction.loss.mean_percent / 100
    if not chance:
        return least, gap_s
    correlation = min(direction.loss.correlation, MOST_CORRELATED)
    alone = (LOSS_SIGMAS / LOSS_APART) ** 2 * (1 - chance) / chance
    wanted = math.ceil(alone * (1 + correlation) / (1 - correlation))
    limit = direction.queue.limit_bytes
    if isinstance(direction.rate, RecordedRate) and limit is not None:
        held = 0 if direction.queue.discipline is Discipline.CODEL else limit // LOSS_PACKET_BYTES
        wanted = min(wanted, held)
    return max(least, min(wanted, int(most_s / gap_s))), gap_s


def loss_figure(direction: Direction, sent: int, arrived: int, clients: int = 1) -> CalibratedFigure:
    """The loss of a direction by small packets: of `clients` together, each of which was sent its part of them."""
    chance, measured_share = direction.loss.mean_percent / 100, (sent - arrived) / sent
    least, most = lost_packets(direction.loss, sent // clients, clients)
    tolerance = most / sent - chance if measured_share > chance else chance - least / sent
    return CalibratedFigure(
        what=f"loss {direction.way}",
        unit="%",
        configured=100 * chance,
        measured=100 * measured_share,
        n=sent,
        tolerance=100 * tolerance + 1e-9,
    )


def lost_packets(loss: Loss, each: int, clients: int = 1) -> tuple[int, int]:
    """The fewest and the most packets that a right link loses, but for one reading of 16,000.

    Of so many packets for each client. Exact, also in bursts: the number's distribution is the inverse Fourier
    transform of its generating function, which is a power of the channel's matrix.
    """
    import numpy as np  # noqa: PLC0415  # seldom needed

    count = each * clients + 1
    at = np.exp(-2j * np.pi * np.arange(count) / count)
    if isinstance(loss, GilbertElliott):
        stays = np.array([[1 - loss.p, loss.p], [loss.r, 1 - loss.r]])
        kept = np.array([loss.k, loss.h])
        step = (kept + (1 - kept) * at[:, None])[:, :, None] * stays
        at_first = np.array([loss.r, loss.p]) / (loss.p + loss.r)
        generated = (at_first @ np.linalg.matrix_power(step, each)).sum(axis=1)
    else:
        generated = (1 + loss.mean_percent / 100 * (at - 1)) ** each
    chances = np.fft.ifft(generated**clients).real.clip(0)
    fewest, spared = (
        int(np.searchsorted(np.cumsum(part), LOSS_REFUSED / 2, side="right"))
        for part in (chances, chances[::-1])
    )
    return fewest, count - 1 - spared


@dataclass(frozen=True)
class Calibration:
    """What one calibration saw. `figures` are by name, as in calibration.jsonl; times are without serialisation."""

    link: Link
    device: str
    scheduling: str | None
    taken_utc: str
    figures: dict[str, CalibratedFigure] = field(hash=False)
    arrivals: str | None = None
    seed: int | None = None

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
            "arrivals": self.arrivals,
            "seed": self.seed,
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
    """What `figures_of` finds over a fresh link with so many clients, whose losses and jitter no other reading had.

    Where packets were lost that should not be, that is the last figure.
    """
    testbed.server.configure(f"addr replace {PROBE_ADDRESS}/32 dev lo")
    figures: dict[str, CalibratedFigure] = {}
    draw = secrets.randbelow(DRAWS)
    with (
        testbed.client(link, draw=draw, count=clients, distances_ms=distances_ms) as client,
        blamed(testbed, client),
    ):
        try:
            for name, figure in figures_of(client):
                figures[name] = figure
        except PacketsLost as lost:
            figures["arrived_packets"] = lost.figure
        reading = client.link.reading()
    return Calibration(
        link=link,
        device=reading["backend"],
        scheduling=reading["scheduling"],
        taken_utc=utc_now(),
        figures=figures,
        arrivals=reading.get("arrivals"),
        seed=reading.get("seed"),
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
