"""Messages of workers as bytes. A planned trial goes as its id alone: the coordinator has the plan."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

from harness.study.plan import PlannedTrial

Planned = Callable[[str], PlannedTrial]


class TrialPickler(pickle.Pickler):
    """Pickles trials as their ids."""

    def persistent_id(self, obj: object) -> str | None:
        return obj.trial if isinstance(obj, PlannedTrial) else None


class TrialUnpickler(pickle.Unpickler):
    """Unpickles what comes from a member of the cluster, who could do anything here anyway."""

    def __init__(self, file: io.BytesIO, planned: Planned) -> None:
        super().__init__(file)
        self._planned = planned

    def persistent_load(self, pid: str) -> PlannedTrial:
        return self._planned(pid)


def to_bytes(content: object) -> bytes:
    """What is told, as bytes."""
    file = io.BytesIO()
    TrialPickler(file, pickle.HIGHEST_PROTOCOL).dump(content)
    return file.getvalue()


def of_bytes(data: bytes, planned: Planned) -> Any:
    """Inverse of `to_bytes`; `planned` gives the trial of an id."""
    return TrialUnpickler(io.BytesIO(data), planned).load()
