"""The link `none`: hosts side by side, measured for what they are."""

from __future__ import annotations

from typing import Any

import pytest

from harness.errors import TestbedFailed
from harness.lab.calibrate import calibrate
from harness.lab.emulated import DEVICE
from harness.lab.passages import OneWay, goodput_mbps
from harness.lab.testbed import testbed
from harness.model.link import NO_LINK
from tests.system.conftest import inside, timed

MESSAGE = "the veth pair between client and server is gone, or down"


def observe() -> dict[str, Any]:
    with testbed() as made:
        taken = calibrate(made, NO_LINK)
        with made.client(NO_LINK) as client:
            before = client.link.reading()
            rate = goodput_mbps(OneWay(made.server, client.host, client.address), settle_s=0.2, seconds=0.5)
            after = client.link.reading()
            client.link.examine()
            client.host.configure(f"link set {DEVICE} down")
            with pytest.raises(TestbedFailed, match=MESSAGE):
                client.link.check()
        with made.client(NO_LINK) as client:
            client.link.check()
            client.host.configure(f"link del {DEVICE}")
            with pytest.raises(TestbedFailed, match=MESSAGE):
                client.link.check()
        with made.client(NO_LINK) as client:
            client.link.check()  # the next one is whole again
    return {"calibration": taken, "before": before, "after": after, "mbps": rate}


@timed("an echo waits for a core")
def test_no_link_delays_nothing_limits_nothing_and_counts_packets() -> None:
    seen = inside(observe)
    taken = seen["calibration"]
    assert (taken.device, taken.complaints) == ("none", ())
    assert set(taken.figures) == {"rtt_ms"}
    assert taken.figures["rtt_ms"].measured < 1
    down, up = (
        {key: seen["after"][way][key] - seen["before"][way][key] for key in ("packets_out", "bytes_out")}
        for way in ("down", "up")
    )
    assert seen["mbps"] > 100
    assert down["bytes_out"] >= seen["mbps"] * 1e6 / 8 * 0.5
    assert down["bytes_out"] <= 1500 * down["packets_out"]  # no packet is larger than on a link
    assert 0 < up["bytes_out"] < down["bytes_out"]
    assert seen["after"]["down"]["drops_device"] == seen["after"]["up"]["drops_device"] == 0
