"""UTC as files have it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from harness.system.clock import utc_now, utc_text


def test_every_zone_is_written_as_utc() -> None:
    noon = datetime(2012, 7, 1, 12, 0, 0, 5000)
    east = timezone(timedelta(hours=2))
    for moment in (noon, noon.replace(tzinfo=UTC), noon.replace(hour=14, tzinfo=east)):
        assert utc_text(moment) == "2012-07-01T12:00:00Z"
        assert utc_text(moment, "milliseconds") == "2012-07-01T12:00:00.005Z"


def test_now_is_read_back_as_now() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    assert before <= datetime.fromisoformat(utc_now()) <= datetime.now(UTC)
