"""Settings that hold for all conditions of a study: how archives are served, how far their hosts are, and TCP."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shortened, shown
from harness.model.condition import RECORDED_COMPRESSION, Compression, Origins
from harness.model.engine import Engine
from harness.model.link import LEAST_DELAY_MS, MAX_RTT_MS

CONGESTION_CONTROLS = ("cubic", "bbr", "reno")
DIGITS = 3  # of ms


@dataclass(frozen=True)
class TcpSettings:
    """The transport settings of both hosts of a testbed. `initial_window` is in segments (RFC 6928: 10).

    `tail_loss_probe`: what was sent last is sent again after two round trips without an answer (RFC 8985, section 7).
    Linux does so since 3.10, of 2013. `remembers_destinations`: a connection begins with what earlier ones of its load
    taught about the other host: round-trip time and slow-start threshold. Linux kept the threshold until 5.6, of 2020.
    No host meets another one twice, so nothing is remembered from load to load.
    """

    congestion_control: str = "cubic"
    initial_window: int = 10
    slow_start_after_idle: bool = True
    tail_loss_probe: bool = True
    remembers_destinations: bool = False

    def __post_init__(self) -> None:
        if self.congestion_control not in CONGESTION_CONTROLS:
            known = ", ".join(CONGESTION_CONTROLS)
            raise StudyError(f"congestion_control: unknown {self.congestion_control!r}; known: {known}")
        if not 1 <= self.initial_window <= 1000:
            raise StudyError(f"initial_window is {self.initial_window}; it must be 1 to 1000 segments")


TLS_VERSIONS = ("1.3", "1.2")
LONGEST_CHAIN = 5
STREAM_WINDOW_BYTES = (1_024, 2**31 - 1)  # the most is HTTP/2's own limit


class CertificateKey(StrEnum):
    """The kinds of keys, and how many bits those of RSA have."""

    _value_: str
    bits: int

    def __new__(cls, value: str, bits: int = 256) -> CertificateKey:
        member = str.__new__(cls, value)
        member._value_ = value
        member.bits = bits
        return member

    ECDSA_P256 = "ecdsa-p256"
    RSA_2048 = "rsa-2048", 2048
    RSA_4096 = "rsa-4096", 4096


@dataclass(frozen=True)
class CertificateChain:
    """What a server shows of itself in a handshake: the host's certificate and those of issuers, `length` in all.

    The root is not sent. All of them have keys of one kind, and so have their signatures, but for the root's own.
    """

    length: int = 1
    key: CertificateKey = CertificateKey.ECDSA_P256

    def __post_init__(self) -> None:
        if not 1 <= self.length <= LONGEST_CHAIN:
            raise StudyError(
                f"certificate_chain is {self.length}; it must be 1 to {LONGEST_CHAIN} certificates"
            )


ONE_CERTIFICATE = CertificateChain()


@dataclass(frozen=True)
class ThinkTime:
    """How long the server waits before it answers from the archive: `constant_ms`, or as long as was `recorded`.

    What is recorded is the wait of the client for the first byte, which holds one round trip to the server.
    """

    constant_ms: float = 0.0
    recorded: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.constant_ms <= MAX_RTT_MS:  # also refuses NaN
            raise StudyError(f"think_time is {self.constant_ms:g}; it must be 0 to {MAX_RTT_MS:g} ms")

    @classmethod
    def parse(cls, value: object) -> ThinkTime:
        """`none`, `recorded`, or a number of ms."""
        if value in ("none", "recorded"):
            return cls(recorded=value == "recorded")
        if isinstance(value, str):
            raise StudyError(f'think_time: unknown {value!r}; it is "none", "recorded" or a number of ms')
        return cls(keys.checked_number("think_time", value, 0, MAX_RTT_MS))

    def of(self, wait_ms: float | None, round_trip_ms: float | None) -> float:
        """The think time of a response in ms, by the wait and the round trip of its recording.

        0 where no wait was recorded; the whole wait where the round trip is not known.
        """
        if not self.recorded:
            return self.constant_ms
        return max(0.0, round((wait_ms or 0.0) - (round_trip_ms or 0.0), DIGITS))

    def __bool__(self) -> bool:
        return self.recorded or self.constant_ms > 0

    def __str__(self) -> str:
        return "recorded" if self.recorded else f"{self.constant_ms:g} ms" if self else "none"


EQUAL, RECORDED, OTHERS = "equal", "recorded", "*"  # distances
HOSTS_NAMED = 3  # in an error
_SHARD = re.compile(r"shard\d+\.(.+)")  # as sites.optimise.filters.delivery names them

Groups = Sequence[Sequence[str]]  # the hosts of a page by server address


@dataclass(frozen=True)
class Distances:
    """How far the hosts of a page are behind the access link: what a round trip to each takes longer than the link's.

    What is taken of a recording: the shortest connect time to a host's server address, less the shortest to any address
    of the recording. The nearest server stands for the end of the recording's own access link, whose round trip is not
    known otherwise; so no distance is below 0, and the nearest address is at 0. Lighthouse estimates so what each
    origin adds to its simulated link (NetworkAnalyzer.computeRTTAndServerResponseTime: the minimum of each origin less
    that of all).

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
        told = shortened(list(hosts), HOSTS_NAMED)
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


class NameSide(StrEnum):
    """On which side of the link names are looked up."""

    SERVER = "server"
    CLIENT = "client"


@dataclass(frozen=True)
class Replay:
    """How archives are served: the settings of a study that hold for all its conditions.

    `tls` is the one version of TLS there is. With `tls_resumption` a connection may resume the session of another one
    of the same load, by ticket; never with early data (0-RTT). `h2_stream_window_bytes` is what the browser lets an
    answer over HTTP/2 be ahead of its reading; None: what it does by itself. `dns`: on the server's side of the link a
    look-up takes a round trip, on the client's none. `distance` needs recorded origins: it is that of their addresses.
    With `spdy_header_compression` request headers of SPDY without TLS go up compressed, as by Chromium of 2012; without
    it as QtWebKit sends them. `over_http`: the engine loads by plain http somewhere in the study, where browsers take
    neither brotli nor zstd, so it gets neither by any protocol: what is compared has the same bodies.
    """

    origins: Origins = Origins.SINGLE
    determinism: bool = True
    compression: Compression = RECORDED_COMPRESSION
    think_time: ThinkTime = ThinkTime()
    tls: str = TLS_VERSIONS[0]
    tls_resumption: bool = False
    chain: CertificateChain = ONE_CERTIFICATE
    h2_stream_window_bytes: int | None = None
    dns: NameSide = NameSide.SERVER
    spdy_header_compression: bool = False
    distance: Distances = ALL_EQUAL
    over_http: bool = False

    def __post_init__(self) -> None:
        if self.distance and self.origins is not Origins.RECORDED:
            raise StudyError(
                f'distance: with origins = "{self.origins}" all hosts have one address and so one distance; say '
                f'origins = "{Origins.RECORDED}", or leave distance out'
            )

    @classmethod
    def usual(cls, engine: Engine) -> Replay:
        """What an engine gets where nothing else is said."""
        return cls(tls=engine.traits.tls)


AS_RECORDED = Replay(determinism=False)  # for a crawl: what is archived is what was recorded
