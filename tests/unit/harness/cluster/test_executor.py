"""What comes from workers arrives as it was told."""

from __future__ import annotations

from harness.cluster.executor import Arrived, Inbox
from harness.cluster.messages import Ended, of_bytes, to_bytes
from harness.records import RecordLine
from tests.unit.harness.run.test_attempts import FIRST, SECOND, record


def test_messages_keep_what_they_say() -> None:
    told = [
        ("preparing", "a"),
        ("ended", Ended(RecordLine.of(record(SECOND, 2, None)), repeated=False, files={})),
    ]
    assert of_bytes(to_bytes(told)) == told


def test_attempts_with_files_wait_for_whoever_fetches_them_and_all_else_keeps_its_order() -> None:
    inbox = Inbox()
    plain = Ended(RecordLine.of(record(FIRST, 1, None)), False, {})
    kept = Ended(RecordLine.of(record(SECOND, 1, None)), False, {"load.har": 3})
    for told in (
        [("preparing", "a"), ("ended", plain), ("ended", kept)],
        [("preparing", "b")],
    ):
        inbox.arrive((0.0, {"sender": "one", "told": to_bytes(told)}))
    assert [each.content for each in inbox.gathered(0.0)] == ["a", plain, "b"]
    assert list(inbox.with_files("other")) == []
    assert list(inbox.with_files("one")) == [kept]
    assert list(inbox.with_files("one")) == []
    inbox.put(Arrived("one", "ended", kept))
    assert [each.content for each in inbox.gathered(0.0)] == [kept]
