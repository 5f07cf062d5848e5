"""A replayed load beside mm-webreplay: the same page, browser and link settings, loads in turn.

It is what `python -m benchmarks.mahimahi` measures. Here Apache serves the dummy page over HTTP/1.1, and a trial
loads it; there Mahimahi is begun anew for each load, as it ships, with the machine's congestion control, and with ours.
A request waits from its last byte to the first of its answer. A ratio of 1 is agreement; neither side is known to be
the right one.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.headline.row import Figure, Found, Size, in_enclosure
from benchmarks.headline.shells import ALIKE, AS_IT_SHIPS, mahimahi
from benchmarks.mahimahi import loads_of, whole_blocks
from benchmarks.mahimahicauses import Arm
from harness.engines.browsers import maker_of
from harness.model.engine import DEFAULT_ENGINE
from harness.model.link import Link

TITLE, TURNS, MINUTES = "A replayed load", 15, 5
PAGE, LINK = "dummy-2012", Link.of(10, 100)
PEER = "mm-webreplay in mm-delay and mm-link"
SIDES = {Arm.BOTH: ALIKE, Arm.MAHIMAHI: AS_IT_SHIPS}


def measure(size: Size) -> Mapping[str, object]:
    programs = mahimahi()

    def inside() -> Found:
        with loads_of(PAGE, programs.folder, LINK) as loads:
            blocks = whole_blocks(loads, (Arm.HERE, *SIDES), size.turns)
        figures = []
        for arm, said in SIDES.items():
            pairs = [(block[Arm.HERE], block[arm]) for block in blocks]
            times = [(here.plt_ms, there.plt_ms) for here, there in pairs]
            waited = [(here.waited_ms, there.waited_ms) for here, there in pairs]
            peer = f"{PEER}, {said}"
            figures += [
                Figure("page-load time of a replay", "ms", peer, times, front=True),
                Figure("what a request waits", "ms", peer, waited),
            ]
        missing = size.turns - len(blocks)
        versions = {name: told() for name, told in maker_of(DEFAULT_ENGINE).programs().items()}
        return Found(
            figures,
            {"Mahimahi": programs.version, **versions},
            [f"{missing} of {size.turns} turns, in which a load did not count"] if missing else [],
        )

    return in_enclosure(inside)
