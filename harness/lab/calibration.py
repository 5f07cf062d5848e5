"""What a measurement of a link saw, figure by figure, and whether the link may be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.errors import MeasurementRefused
from harness.model.link import Link

CALIBRATION_SCHEMA = 2


@dataclass(frozen=True)
class CalibratedFigure:
    """One configured figure and its measurement, from `n` observations, with what it may be off by.

    `p99` is the 99th percentile where single observations are meaningful, else None.
    """

    what: str
    unit: str
    configured: float
    measured: float
    n: int
    tolerance: float
    p99: float | None = None

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


@dataclass(frozen=True)
class Calibration:
    """What one calibration saw. `figures` are by name, as in calibration.jsonl; times are without serialisation."""

    link: Link
    backend: str
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
            "backend": self.backend,
            "scheduling": self.scheduling,
            **kept,
            "ok": not self.complaints,
            "complaints": list(self.complaints),
            "taken_utc": self.taken_utc,
        }


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
