"""Page-load times here and in Mahimahi, and what makes the difference: one archive, browser and link, loads in turn.

    .venv/bin/python -m benchmarks.mahimahi --programs PREFIX/bin [--page dummy-2012] [--blocks 14] [--rtt-ms 100]
        [--into docs]

Root only. Mahimahi is no package of Debian: build it by hand (github.com/ravinet/mahimahi; autoconf, automake, libtool,
g++, pkg-config, protobuf-compiler, libprotobuf-dev, apache2-dev, libssl-dev, libxcb-present-dev, libcairo2-dev,
libpango1.0-dev, ssl-cert, iptables, dnsmasq-base). As root, in its sources:

    ./autogen.sh && ./configure --prefix=PREFIX && make PICKY_CXXFLAGS= && make PICKY_CXXFLAGS= install

PICKY_CXXFLAGS holds -Werror, which a newer compiler may run into. A kernel without the device type `dummy`
(`ip link add dummy0 type dummy` fails) needs `./configure IP=SCRIPT`, with a script that makes an `ifb` of it:

    #!/bin/bash -p
    args=("$@")
    for n in "${!args[@]}"; do [ "${args[n]}" = dummy ] && args[n]=ifb; done
    exec /usr/sbin/ip "${args[@]}"

There a load runs behind `mm-webreplay RECORDING`, `mm-delay RTT/2` and `mm-link TRACE TRACE`, begun anew for each load,
as its authors do; here it is a trial over Apache. Browsers are started by the same code, with the same flags, and times
are the page's own, navigation start to the end of the load event. Mahimahi replays HTTP/1.1 alone, and what was
recorded over http keeps it.

Each block has a load of every arm, in random order: these two, and arms between them that change one thing, so that the
difference is split by cause (`benchmarks.mahimahicauses`). Before the first block the time of a TCP connect and of an
answer are measured here and there, and two arms here are given Mahimahi's. With --into the section "Beside Mahimahi" of
results/replay.md, the row of results.md and data/mahimahi.json are written there.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.statistics import LEAST_PAIRS
from benchmarks import common
from benchmarks.mahimahicauses import Arm, Took, to_json
from benchmarks.mahimahiloads import Loads
from benchmarks.mahimahisection import section, write
from benchmarks.mahimahishells import Mahimahi, write_recording, write_trace
from harness.lab.environment import describe_machine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.system.enclosure import enclosed
from harness.trial.trial import browser_lab
from sites.archive import archives_root, open_archive


@contextlib.contextmanager
def loads_of(page: str, programs: Path, link: Link) -> Iterator[Loads]:
    """Loads of a page, here and there. Must run inside an enclosure."""
    archive = open_archive(archives_root(), page)
    with (
        TemporaryDirectory(dir="/var/tmp") as parent,
        browser_lab({page: archive}, [Protocol.HTTP1], server="apache") as opened,
        contextlib.ExitStack() as stack,
    ):
        Path(parent).chmod(0o755)
        recording, trace = Path(parent, "recording"), Path(parent, "trace")
        recording.mkdir()
        write_recording(archive, recording)
        write_trace(link.down.rate.mean_mbps, trace)
        yield Loads(opened, stack, archive, Mahimahi(programs, recording, trace, link))


def whole_blocks(loads: Loads, arms: Sequence[Arm], planned: int) -> list[dict[Arm, Took]]:
    """So many blocks of a load of each arm, in random order; those in which every load counts."""
    source = random.Random(1)  # noqa: S311  # an order, not a secret
    blocks: list[dict[Arm, Took]] = []
    for block in range(1, planned + 1):
        seen = {arm: loads.took(arm, block) for arm in source.sample(arms, len(arms))}
        counted = {arm: times for arm in arms if (times := seen[arm]) is not None}
        told = (f"{arm} {load.plt_ms:.0f}" for arm, load in counted.items())
        print(f"  {block}/{planned}: {', '.join(told)} ms", flush=True)
        if len(counted) == len(arms):
            blocks.append(counted)
    return blocks


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """All that the document tells."""
    link = Link.of(given.mbps, given.rtt_ms)
    before = os.getloadavg()
    with loads_of(given.page, given.programs, link) as loads:
        congestion_control = loads.congestion_control()
        delays = loads.prepare()
        print(f"{delays}; congestion control {congestion_control}", flush=True)
        blocks = whole_blocks(loads, list(Arm), given.blocks)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "load_average": {"before": before, "after": os.getloadavg()},
        "page": given.page,
        "link": link.to_json(),
        "congestion_control": congestion_control,
        "delays": delays.to_json(),
        "planned": given.blocks,
        "blocks": to_json(blocks),
    }


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--programs", type=Path, required=True, help="the folder of mm-webreplay, mm-delay, mm-link"
    )
    parser.add_argument("--page", default="dummy-2012")
    parser.add_argument("--blocks", type=int, default=14)
    parser.add_argument("--mbps", type=float, default=10)
    parser.add_argument("--rtt-ms", type=float, default=100)
    parser.add_argument(
        "--into", type=Path, metavar="DOCS", help="write section, row and data below this folder"
    )
    given = parser.parse_args()
    print(common.machine())

    def command() -> int:
        data = measure(given)
        if len(data["blocks"]) < LEAST_PAIRS:
            print(f"{len(data['blocks'])} of {given.blocks} blocks are whole, too few to tell anything by")
            return 1
        print("\n".join(section(data)))
        if given.into:
            write(data, given.into)
        return 0

    return enclosed(command)


if __name__ == "__main__":
    sys.exit(main())
