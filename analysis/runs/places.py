"""Where records were made: the machine of a run on several, the lane of a run in several, and the levels these are.

A run differs from the next one by more than its trials say, and so does a machine, or a lane with its cores. Nothing is
compared across them: a block that was begun again elsewhere is another block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.records import place_of

PLACE = ("machine", "lane", "lanes")
LEVEL = ("run", "block", "restart")  # what is compared has all three in common


def has_places(records: pd.DataFrame) -> bool:
    """Whether some record says where it was made."""
    return bool(_told(records))


def places(records: pd.DataFrame) -> pd.Series[str]:
    """The place of each record; "" where its run has no several."""
    there = _told(records)
    if not there:
        return pd.Series("", index=records.index)
    numbers = records.groupby(there, dropna=False, sort=False).ngroup()
    firsts = records.loc[~numbers.duplicated(), there].reindex(columns=list(PLACE))
    names = [place_of(_text(row.machine), _whole(row.lane), _whole(row.lanes)) for row in firsts.itertuples()]
    return pd.Series(np.array([name or "" for name in names], dtype=object)[numbers], index=records.index)


def place_of_reading(reading: Mapping[str, Any]) -> str | None:
    """Where a link was measured; None where there is one place."""
    machine, lane, lanes = (reading.get(key) for key in PLACE)
    numbers = (each if isinstance(each, int) else None for each in (lane, lanes))
    return place_of(machine if isinstance(machine, str) else None, *numbers)


def in_levels(records: pd.DataFrame) -> pd.DataFrame:
    """The records with the name of their level as `run`, and as `restart` how often their block was begun again."""
    runs, where = records["run"].astype(str), places(records)
    several = where.groupby(runs).transform("nunique") > 1
    restart = records["restart"].fillna(0) if "restart" in records else 0
    named = runs.where(~several | (where == ""), runs + " on " + where)
    return records.assign(run=named, restart=restart)


def _told(records: pd.DataFrame) -> list[str]:
    return [name for name in PLACE if name in records and records[name].notna().any()]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    """A whole number; columns with gaps hold doubles."""
    return None if pd.isna(value) else int(value)
