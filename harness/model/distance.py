"""How far the hosts of a page are behind the access link: a round trip to each takes so much longer than the link's.

What is taken of a recording: the shortest connect time to a host's server address, less the shortest to any address of
the recording. The nearest server stands for the end of the recording's own access link, whose round trip is not known
otherwise; so no distance is below 0, and the nearest address is at 0. Lighthouse estimates so what each origin adds to
its simulated link (NetworkAnalyzer.computeRTTAndServerResponseTime: the minimum of each origin less that of all).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shortened, shown
from harness.model.link import LEAST_DELAY_MS, MAX_RTT_MS

EQUAL, RECORDED, OTHERS = "equal", "recorded", "*"
DIGITS = 3  # of ms
NAMED = 3  # hosts in an error

_SHARD = re.compile(r"shard\d+\.(.+)")  # as sites.optimise.filters.delivery names them

Groups = Sequence[Sequence[str]]  # the hosts of a page by server address


@dataclass(frozen=True)
class Distances:
    """What a round trip to each host takes longer than the link's, in ms.

    `of_hosts` are those that are named, `others` all others: a number of ms, as `recorded`, or None where every host
    must be named.
    """

    of_hosts: tuple[tuple[str, float], ...] = ()
    others: float | str | None = 0.0

    @classmethod
    def parse(cls, value: object) -> Distances:
        """`equal`, `recorded`, or a table of ms by host, in which `*` is all others: ms or "recorded"."""
        if value in (EQUAL, RECORDED):
            return cls(others=RECORDED if value == RECORDED else 0.0)
        if not isinstance(value, dict) or not value:
            raise StudyError(
                f'distance: unknown {shown(value)}; it is "{EQUAL}", "{RECORDED}", or a table of ms by host, as '
                f'[distance] "cdn.example" = 12'
            )
        table = {host.lower(): ms for host, ms in value.items()}
        others = table.pop(OTHERS, None)
        return cls(
            tuple((host, _ms(host, ms)) for host, ms in table.items()),
            others if others in (None, RECORDED) else _ms(OTHERS, others),
        )

    def of(self, page: str, groups: Groups, round_trips_ms: Mapping[str, float]) -> tuple[float, ...]:
        """The distance of each server address of a page, in ms; `round_trips_ms` are those of its recording, by host.

        Names that `shard_domains` made are as far as the host of their files. StudyError, with one line, where nothing
        tells the distance of an address, two hosts of one differ, or it is too far.
        """
        recorded = beyond_link(round_trips_ms)
        there = {host for hosts in groups for host in hosts}
        made = {host: found[1] for host in there if (found := _SHARD.match(host)) and found[1] in there}
        of_archive = [tuple(dict.fromkeys(made.get(host, host) for host in hosts)) for hosts in groups]
        return tuple(self._of_address(page, hosts, recorded) for hosts in of_archive)

    def _of_address(self, page: str, hosts: Sequence[str], recorded: Mapping[str, float]) -> float:
        named = {host: ms for host, ms in self.of_hosts if host in hosts}
        if len(set(named.values())) > 1:
            raise StudyError(
                f"distance: {' and '.join(named)} have one server address in {page}, and the table puts them at "
                f"{' and '.join(f'{ms:g}' for ms in named.values())} ms; give them one distance"
            )
        if named:
            return next(iter(named.values()))
        if isinstance(self.others, float):
            return self.others
        told = shortened(list(hosts), NAMED)
        mend = f'give it in a table, [distance] "{hosts[0]}" = MS, or for all that it does not name, "{OTHERS}" = MS'
        if self.others is None:
            raise StudyError(f"distance: the table does not name {told} of {page}; {mend}")
        known = [recorded[host] for host in hosts if host in recorded]
        if not known:
            lack = f"does not tell how far {told} is" if recorded else "holds no connect times"
            raise StudyError(f"distance: the recording of {page} {lack}; {mend}")
        if min(known) > MAX_RTT_MS:
            raise StudyError(
                f"distance: in the recording of {page} {told} is {min(known):g} ms away, and the most is "
                f"{MAX_RTT_MS:g}; {mend}"
            )
        return min(known)

    def __bool__(self) -> bool:
        """Whether any host is farther than another one."""
        return bool(self.of_hosts) or self.others != 0

    def __str__(self) -> str:
        others = EQUAL if self.others == 0 else self.others
        if not self.of_hosts:
            return f"{others:g} ms" if isinstance(others, float) else str(others)
        rest = {} if self.others is None else {OTHERS: self.others}
        told = {**dict(self.of_hosts), **rest}
        return ", ".join(f"{host} {ms if isinstance(ms, str) else f'{ms:g} ms'}" for host, ms in told.items())


ALL_EQUAL = Distances()


def beyond_link(round_trips_ms: Mapping[str, float]) -> dict[str, float]:
    """How far hosts are beyond the recording's own link, in ms, by the round trips to them."""
    nearest_ms = min(round_trips_ms.values(), default=0.0)
    return {host: round(ms - nearest_ms, DIGITS) for host, ms in round_trips_ms.items()}


def _ms(host: str, value: object) -> float:
    return float(
        keys.positive(f"distance of {shown(host)}, in ms,", value, LEAST_DELAY_MS, MAX_RTT_MS, zero=True)
    )
