"""A link that was made to be measured, as one for a trial is, and what its measurements have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

from harness.errors import TestbedFailed
from harness.lab.calibration import CalibratedFigure, Calibration
from harness.lab.testbed import SERVER_NETWORK, Client, Testbed
from harness.model.link import Link
from harness.system.files import utc_now

PROBE_ADDRESS = f"{SERVER_NETWORK}.255.254"
CODEL_TRAIN_SECONDS = 0.08  # CoDel drops nothing in its first interval of 100 ms
PROBE_BYTES = 60  # of packets one way

# How far a reading may be off before the run stops. The scheduler of an ordinary user is coarser than the
# emulator's accuracy, hence the absolute parts.
RATE_TOLERANCE_SHARE = 0.02
TRAIN_TOLERANCE_MS = 0.2  # of the time between first and last packet of a train

Figures = Iterator[tuple[str, CalibratedFigure]]  # by name


def measured(
    testbed: Testbed,
    link: Link,
    figures_of: Callable[[Client], Figures],
    clients: int = 1,
    distances_ms: Mapping[str, float] | None = None,
) -> Calibration:
    """What `figures_of` finds over a fresh link with so many clients."""
    testbed.server.configure(f"addr replace {PROBE_ADDRESS}/32 dev lo")
    with (
        testbed.client(link, count=clients, distances_ms=distances_ms) as client,
        blamed(testbed, client),
    ):
        figures = dict(figures_of(client))
        reading = client.link.reading()
    return Calibration(
        link=link,
        device=reading["backend"],
        scheduling=reading["scheduling"],
        taken_utc=utc_now(),
        figures=figures,
    )


@contextlib.contextmanager
def blamed(testbed: Testbed, client: Client) -> Iterator[None]:
    """A part that has died or is stopped by the end is the reason, whatever was measured, or failed to be."""
    try:
        yield
    except (TestbedFailed, OSError) as error:
        _check_parts(testbed, client)
        if isinstance(error, TestbedFailed):
            raise
        raise TestbedFailed(f"a link could not be measured: {error}") from error
    _check_parts(testbed, client)


def _check_parts(testbed: Testbed, client: Client) -> None:
    try:
        client.link.examine()  # its device goes a little before the process
        testbed.check()
    except TestbedFailed as failure:
        raise TestbedFailed(f"while a link was measured: {failure}") from failure
