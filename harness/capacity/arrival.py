"""How many users there are at a moment of a crowd's trial, and what such a crowd asks of a machine. Pure."""

from __future__ import annotations

import random

from harness.capacity.limits import USER_BYTES, CrowdSize
from harness.capacity.recipe import PageRecipe
from harness.model.protocol import Protocol
from harness.model.workload import Users

HTTP1_CONNECTIONS_PER_HOST = 6  # of Chromium, and of the browsers of 2012


def users_at(workload: Users, t_s: float) -> int:
    """The users that are there `t_s` seconds after the start: along the ramp, or on its step."""
    if workload.steps:
        step = int(t_s / (workload.step_s or 1.0))
        return workload.steps[min(max(step, 0), len(workload.steps) - 1)]
    start, to = workload.start or 1, workload.to or 1
    share = min(max(t_s / (workload.over_s or 1.0), 0.0), 1.0)
    return start + int((to - start) * share)


def first_pauses_ms(workload: Users, seed: int) -> list[float]:
    """How long users wait before their first page, by number.

    Those of a step, or at the start of a ramp, would all come at once. They are spread over a think time.
    """
    together = workload.most if workload.steps else workload.start or 1
    if together == 1:
        return []
    longest_ms = 1000 * min(workload.think_s, workload.step_s or workload.over_s or 0.0)
    source = random.Random(seed)  # noqa: S311  # a crowd that can be made again, not a secret
    return [round(source.uniform(0, longest_ms), 3) for _ in range(together)]


def connections_per_host(protocol: Protocol) -> int:
    """The most connections that a user has open to a host at a time."""
    return HTTP1_CONNECTIONS_PER_HOST if protocol.wire == Protocol.HTTP1.wire else 1


def crowd_of(workload: Users, recipe: PageRecipe, protocol: Protocol, rtt_ms: float) -> CrowdSize:
    """What the limits of a machine are held against. No page takes less than two round trips."""
    at_once = min(connections_per_host(protocol) * len(recipe.hosts), recipe.requests)
    return CrowdSize(
        users=workload.most,
        connections_at_once=at_once,
        connections_per_page=at_once if protocol.keep_alive else recipe.requests,
        pause_s=workload.think_s + 2 * rtt_ms / 1000,
        user_bytes=USER_BYTES[protocol.scheme],
    )
