"""The time of day, as files have it: UTC in ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_text(moment: datetime, timespec: str = "seconds") -> str:
    """`2012-07-01T12:00:00Z`; `timespec` as in datetime.isoformat; a moment without zone is UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.isoformat(timespec=timespec).replace("+00:00", "Z")


def utc_now() -> str:
    """The time now, to the second."""
    return utc_text(datetime.now(UTC))
