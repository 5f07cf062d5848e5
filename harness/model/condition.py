"""One cell of a study as a frozen value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.errors import StudyError
from harness.input.shown import shown
from harness.model.device import DESKTOP, DEVICES, Device
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol


class Origins(StrEnum):
    """How many server addresses the names of a page resolve to."""

    SINGLE = "single"  # one for all, as in the 2012 study
    RECORDED = "recorded"  # one per recorded server address; per host where the recording does not tell


RECORDED_COMPRESSION = "recorded"


@dataclass(frozen=True)
class Condition:
    """One cell of a study: what is loaded, how its bytes travel, over which link, in which browser.

    `compression` is that of text, as `harness.model.settings.Compression` writes it.
    """

    page: str
    variant: str
    protocol: Protocol
    link: Link
    engine: Engine
    driver: Driver
    origins: Origins
    server: str
    device: Device = DESKTOP
    compression: str = RECORDED_COMPRESSION

    def to_json(self) -> dict[str, Any]:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"link": self.link.to_json(), "device": self.device.name}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Condition:
        """Inverse of `to_json`; raises StudyError when a value is not one of ours."""
        try:
            return cls(
                page=data["page"],
                variant=data["variant"],
                protocol=Protocol(data["protocol"]),
                link=Link.from_json(data["link"]),
                engine=Engine(data["engine"]),
                driver=Driver(data["driver"]),
                origins=Origins(data["origins"]),
                server=data["server"],
                # Plans of older versions have neither.
                device=DEVICES[data.get("device", DESKTOP.name)],
                compression=data.get("compression", RECORDED_COMPRESSION),
            )
        except (KeyError, ValueError, TypeError) as error:
            raise StudyError(f"not a condition ({error}): {shown(data)}") from error

    def __str__(self) -> str:
        device = "" if self.device is DESKTOP else f" {self.device}"
        coding = "" if self.compression == RECORDED_COMPRESSION else f" {self.compression}"
        browser = self.driver if self.engine is Engine.CHROMIUM else f"{self.engine} {self.driver}"
        return f"{self.page} {self.variant}{coding} {self.protocol} {self.link.name} {browser}{device}"
