"""Messages keep what they say, and trials are those of the plan."""

from __future__ import annotations

from harness.cluster.inbox import Arrived, Inbox
from harness.cluster.messages import Ended
from harness.cluster.wire import of_bytes, to_bytes
from harness.run.attempts import Attempts
from tests.unit.harness.run.test_attempts import FIRST, PLAN, SECOND, record

PLANNED = Attempts(PLAN).planned


def test_a_trial_travels_as_its_id() -> None:
    ended = Ended(record(SECOND, 2, None), repeated=False)
    data = to_bytes(ended)
    assert FIRST.condition.link.name.encode() not in data
    found = of_bytes(data, PLANNED)
    assert found == ended
    assert found.record.planned is SECOND


def test_attempts_with_files_wait_for_whoever_fetches_them_and_all_else_keeps_its_order() -> None:
    inbox = Inbox(PLANNED)
    plain, kept = Ended(record(FIRST, 1, None), False), Ended(record(SECOND, 1, None), False, {"load.har": 3})
    for kind, content in (("preparing", "a"), ("ended", plain), ("ended", kept), ("preparing", "b")):
        inbox.arrive((0.0, {"sender": "one", "kind": kind, "content": to_bytes(content)}))
    assert [each.content for each in inbox.gathered(0.0)] == ["a", plain, "b"]
    assert list(inbox.with_files("other")) == []
    assert list(inbox.with_files("one")) == [kept]
    assert list(inbox.with_files("one")) == []
    inbox.put(Arrived("one", "ended", kept))
    assert [each.content for each in inbox.gathered(0.0)] == [kept]
