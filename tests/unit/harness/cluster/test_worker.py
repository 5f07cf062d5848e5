"""One thing is told at once, many together."""

from __future__ import annotations

import threading
from collections.abc import Callable

from harness.cluster.worker import EVERY_S, Outbox


class Post:
    """Takes messages, and is asked to call later."""

    def __init__(self) -> None:
        self.messages: list[list[int]] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.outbox = Outbox(self.messages.append, lambda wait_s, call: self.later.append((wait_s, call)))


def test_a_single_thing_is_sent_at_once_and_what_follows_soon_goes_together() -> None:
    post = Post()
    for told in range(100):
        post.outbox.put(told)
    assert post.messages == [[0]]
    ((wait_s, send),) = post.later
    assert 0 < wait_s <= EVERY_S
    send()
    assert post.messages == [[0], list(range(1, 100))]
    post.outbox.put(100)
    assert len(post.later) == 2


def test_whatever_threads_put_in_is_sent_once_and_in_the_order_of_each() -> None:
    post = Post()

    def put(first: int) -> None:
        for told in range(first, first + 1000):
            post.outbox.put(told)

    threads = [threading.Thread(target=put, args=(first,)) for first in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while post.later:
        post.later.pop(0)[1]()
    sent = [told for message in post.messages for told in message]
    assert sorted(sent) == list(range(3000))
    for first in (0, 1000, 2000):
        own = [told for told in sent if first <= told < first + 1000]
        assert own == sorted(own)
