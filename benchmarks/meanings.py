"""What keys of a study file mean, and those of the data that no type declares, for docs/reference
(`benchmarks.reference`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analysis.runs.selection import COUNTS
from benchmarks.declared import Declared, listed
from harness.model.condition import CODED_AS_RECORDED, FILTER_SETTINGS, UNCOMPRESSED, WITHOUT, CacheState
from harness.model.engine import DEVICES, engines_of
from harness.model.kind import KEPT_FILES, Kind
from harness.model.protocol import Protocol
from harness.model.serversettings import USUAL
from harness.model.settings import LONGEST_CHAIN, TLS_VERSIONS, CertificateKey, NameSide
from harness.model.trials import TRIALS_KEYS
from harness.study.claimfile import CLAIM_KEYS
from harness.study.enginefile import REQUESTS_KEYS, USERS_KEYS
from harness.study.figure import FIGURE_KEYS, FigureKind
from harness.study.linkfile import LINK_KEYS, PRESET_KEYS
from harness.study.publicationfile import FILE_KEYS
from harness.study.publicationfile import STUDY_KEYS as PUBLISHED_STUDY_KEYS
from harness.study.rules import ABILITIES
from harness.study.studyfile import STUDY_KEYS, TCP_KEYS


def of_each_way(keys: Iterable[str]) -> tuple[str, ...]:
    """Keys of a link, those of its two ways as one: `WAY_mbps`."""
    return tuple(dict.fromkeys(key.replace("down", "WAY").replace("up", "WAY") for key in keys))


# Of each key of a study file: what may stand there, and what it means. Tables of keys, by the key that has them.
KEYS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "": {
        "name": ("a text", "the name of the study"),
        "title": ("a text", "the title of its report; default: the name"),
        "kind": (listed(Kind), "what one trial is: a page load, a crowd, a closed loop"),
        "pages": ('a list, `"@SET"` for a set', "the archives that are loaded"),
        "variants": ("a list of filters and sets, or a table `factorial`", "forms of the pages"),
        "without": ("a table by page, of lists", "filters that the variants of a page go without"),
        "filters": ("a table by filter", "limits of filters ([filters.md](filters.md))"),
        "protocols": (listed(Protocol), "how bytes travel"),
        "links": ("names of links, or tables", "the access links"),
        "dns": (
            listed(NameSide),
            "on which side of the link names are looked up; on the client's it takes no round trip",
        ),
        "origins": ("`single`, `recorded`", "one server address for all hosts, or those of the recording"),
        "distance": (
            "`equal`, `recorded`, or a table of ms by host",
            'what a round trip to each recorded origin takes longer than the link\'s; `"*"` is all others',
        ),
        "determinism": ("true or false", "whether pages get the same chance and date in every load"),
        "compression": (
            f"{listed((CODED_AS_RECORDED, UNCOMPRESSED))}, as in `gzip-6-dynamic`, or a list",
            "how text travels",
        ),
        "think_time": ("`none`, `recorded`, or ms", "how long the server waits before it answers"),
        "server": (listed(ABILITIES), "what answers; crowds and loops may have a list"),
        "servers": ("a table by name, with `program`", "servers of one's own"),
        **{program: ("a table", f"settings of {program} ([servers.md](servers.md))") for program in USUAL},
        "tls": (listed(TLS_VERSIONS), "the version of TLS"),
        "tls_resumption": ("true or false", "whether the connections of a load may resume its TLS sessions"),
        "certificate_chain": (f"1 to {LONGEST_CHAIN}", "how many certificates the server sends"),
        "certificate_key": (listed(CertificateKey), "the kind of their keys"),
        "tcp": ("a table", "transport of both hosts"),
        "trials": ("a number, or a table", "trials of each condition"),
        "seed": ("a whole number", "orders the trials within each block; default: drawn"),
        "aa": ("true or false", "whether each baseline is measured twice in a block (A/A)"),
        "claims": ("a list of tables", "what is compared, named beforehand"),
        "figures": ("a list of tables", "figures of the study's own"),
        "only_figures": ("true or false", "measures what some figure holds, and nothing else"),
        "published": ("a name, a file, or a table", "what others published"),
        "factors": ("a list of tables", "the study once more for each, with one thing changed"),
        "engine": (listed(engines_of(Kind.LOAD)), "what loads the pages"),
        "engines": ("a list of engines", "several in one study; compared within each alone"),
        "drivers": ("a list of drivers", "what steers the engine"),
        "device": (listed(DEVICES), "the screen and user agent"),
        "cpu_slowdown": ("1, 2, 4, 6, or a list", "how many times slower the main thread of the page runs"),
        "cache": (f"{listed(CacheState)}, or a list", "a first view, or a repeat view"),
        "h2_stream_window_bytes": ("a whole number", "Chromium's window for a stream of HTTP/2"),
        "spdy_header_compression": (
            "true or false",
            "whether request headers of `spdy-plain` go up compressed, as by Chromium of 2012",
        ),
        "timeout_s": ("1 to 3600", "a later load event is a `page-timeout`"),
        "keep": (
            listed(dict.fromkeys(name for kept in KEPT_FILES.values() for name in kept)),
            "files of trials",
        ),
        "vitals": ("true or false", "observes each page until it has come to rest"),
        "portraits": (
            "true or false",
            "one more load of each condition to look at, after the measured ones",
        ),
        "generator": (
            listed(dict.fromkeys((*engines_of(Kind.USERS), *engines_of(Kind.REQUESTS)))),
            "what makes the crowd or the closed loop",
        ),
        "users": ("a table", "how many users come when"),
        "requests": ("a table", "connections and requests of the closed loop"),
    },
    "trials": {
        "least": ("a whole number", "trials of each condition; without `until` all there are"),
        "most": ("a whole number", "where a condition stops in any case"),
        "until": ("a share, as `2 %`", "the half-width of a ratio's interval that is enough"),
        "attempts": ("1 to 10", "attempts at a trial at most"),
    },
    "links": {
        "name": ("a text", "default: made of rate and round-trip time"),
        "rtt_ms": ("a number, or a list", "the full round-trip time"),
        "WAY_mbps": ("0.001 to 10,000", "the rate of IP packets; up as down unless it is given"),
        "trace_WAY": (
            "a file",
            "a Mahimahi delivery trace in place of the rate; each load, crowd or closed loop begins it anew",
        ),
        "steps_WAY": (
            "a file",
            "a list of rates by time in place of the rate; time is that of the load, crowd or closed loop",
        ),
        "queue_WAY": ("`droptail`, `codel`, `unlimited`", "the kind of the queue"),
        "queue_WAY_bytes": (
            "a whole number",
            "its size; default: one bandwidth-delay product, 1000 packets at least",
        ),
        "loss_WAY_percent": ("a share in per cent", "packets lost at random"),
        "gilbert_elliott_WAY": ("a table of `p`, `r`, `h`, `k`", "packets lost in bursts"),
        "jitter_WAY_ms": ("a number", "up to so much is added to the delay of each packet"),
        "delay_WAY_ms": ("a number", "the delay of one way, in place of `rtt_ms`"),
        "shared_WAY_mbps": ("a rate", "with `per_client`: what all clients share"),
        "per_client": ("true or false", "each client has such a link to itself; default: of crowds alone"),
        "preset": ("a name", "a link that ships, in place of rate and round-trip time"),
        "seed": ("a whole number", "of loss and jitter; a number of the trial's own is added"),
        "source": ("a text", "where the numbers come from"),
    },
    "tcp": {
        "congestion_control": ("`cubic`, `bbr`, `reno`", "of both hosts"),
        "initial_window": ("1 to 1000 segments", "the initial congestion window"),
        "slow_start_after_idle": ("true or false", "whether an idle connection begins anew"),
        "tail_loss_probe": ("true or false", "whether the last packet is sent again after two round trips"),
        "remembers_destinations": (
            "true or false",
            "whether a connection begins with the round-trip time and slow-start threshold of earlier ones of its load",
        ),
    },
    "users": {
        "from": ("a whole number", "users at the start of a ramp"),
        "to": ("a whole number", "users at its end"),
        "over_s": ("s", "how long the ramp takes"),
        "steps": ("a list of whole numbers", "users of each step, in place of a ramp"),
        "step_s": ("s", "how long a step takes"),
        "think_s": ("s", "between two pages of a user"),
        "page_timeout_s": ("s", "after which a page has failed"),
        "bucket_s": ("s", "the length of a bucket of the series"),
        "slower_than_s": ("s", "the bound of `users_over_bound`"),
    },
    "requests": {
        "connections": ("a number, or a list", "connections of the loop"),
        "depth": ("a number, or a list", "requests under way on each connection"),
        "seconds": ("s", "how long a trial counts"),
        "warm_s": ("s", "the time before, which does not count"),
    },
    "claims": {
        "name": ("a text", "what the report calls it; default: what is compared"),
        "subject": ("a table of dimensions", "what is measured against the reference"),
        "reference": ("a table of the same dimensions", "left out with `at_most`"),
        "where": ("a table: a value or a list each", "the conditions that the claim keeps to"),
        "metric": ("a metric that is a number", "default: the main metric of the kind"),
        "ratio_below": ("a number", "subject / reference is expected below this"),
        "ratio_within": ("two numbers, or `3 %`", "… between these two; `3 %` is 1/1.03 to 1.03"),
        "at_most": ("a number", "a budget: the metric itself is expected not to be above this"),
        "published": (
            "a number, two, or `below 1`, `above 2.5`",
            "what others published in place of what is expected: a value, a range or a bound; without a reference of "
            "the metric itself",
        ),
        "text": ("a text", "what was published, in one's own words"),
        "stands": ("a text", "where it stands there"),
        "figure": ("a name", "the study's figure that shows it; the claim keeps to its `where`"),
        "tolerance": ("a share, as `5 %`", "how far a published value may be off"),
        "at_users": ("a number", "of a crowd: the metric at so many users"),
        "since_users": ("a number", "with `at_users`: what it grew by since there were so many"),
        "against_users": ("a number", "with `at_users`: in units of what it was with so many"),
        "differs": ("a text", "what of the set-up is another here, for this claim"),
        "not_comparable": ("a text", "why there is no verdict on what was published"),
    },
    "figures": {
        "name": ("small letters, digits, `-`", "names its files, and `--only figure=NAME`"),
        "title": ("a text", "what stands over the figure"),
        "kind": (listed(FigureKind), "how it is drawn"),
        "x": ("a dimension", "what lies along the axis; of lines a number"),
        "series": ("tables of dimensions, or names", "one line, bar or row each; `label` names it"),
        "where": ("a table: a value or a list each", "the conditions that the figure keeps to"),
        "metric": ("a metric that is a number", "default: the main metric of the kind"),
        "reference": ("one of the series", "the others are drawn in units of it"),
    },
    "published": {
        "claims": ("a name of configs/claims, or a file", "the claims with what was published of them"),
        "short": ("true or false", "claims that this study cannot answer are not comparable"),
        "ratios_only": ("true or false", "neither are values without a reference"),
        "scale": (
            "a number, as 0.25",
            "size of crowd and server as a share of the original's; that share of users, workers and rates is compared",
        ),
        "title": (
            "a text",
            "in place of `claims`: what the study's own claims with a published value are from",
        ),
        "source": ("a text", "where that was published"),
        "differs": ("a list of texts", "what else differs in this study"),
    },
    "a file of claims": {
        "title": ("a text", "what was published"),
        "source": ("a text", "where"),
        "differs": ("a list of texts", "what of the set-up is another here"),
        "claims": ("a list of tables", "as `[[claims]]`, each with `text` and `stands`"),
    },
}
MUST = "must be given"
# What a key that is left out stands for, as a study file would say it; of what is not here nothing is done, or it is
# told with what it means.
USUAL_VALUES: Mapping[str, Mapping[str, str]] = {
    "": {
        **dict.fromkeys(("name", "pages", "protocols", "links", "users", "requests"), MUST),
        "kind": '"load"',
        "variants": '["plain"]',
        "origins": '"single"',
        "distance": '"equal"',
        "determinism": "true",
        "compression": '"recorded"',
        "think_time": '"none"',
        "tls_resumption": "false",
        "certificate_chain": "1",
        "certificate_key": '"ecdsa-p256"',
        "trials": "5",
        "aa": "true",
        "only_figures": "false",
        "engine": '"chromium"',
        "device": '"desktop"',
        "cpu_slowdown": "1",
        "cache": '"cold"',
        "dns": '"server"',
        "spdy_header_compression": "false",
        "timeout_s": "60",
        "portraits": "true",
    },
    "trials": {"least": "5", "attempts": "3"},
    "links": {"queue_WAY": '"droptail"', "loss_WAY_percent": "0", "jitter_WAY_ms": "0", "seed": "1"},
    "tcp": {
        "congestion_control": '"cubic"',
        "initial_window": "10",
        "slow_start_after_idle": "true",
        "tail_loss_probe": "true",
        "remembers_destinations": "false",
    },
    "users": {"think_s": "5", "page_timeout_s": "60", "bucket_s": "10", "slower_than_s": "3"},
    "requests": {"connections": MUST, "depth": "1", "seconds": "30", "warm_s": "3"},
}
DECLARED: Mapping[str, Sequence[str]] = {
    "": STUDY_KEYS,
    "trials": TRIALS_KEYS,
    "links": of_each_way((*LINK_KEYS, *PRESET_KEYS)),
    "tcp": TCP_KEYS,
    "users": USERS_KEYS,
    "requests": REQUESTS_KEYS,
    "claims": CLAIM_KEYS,
    "figures": FIGURE_KEYS,
    "published": PUBLISHED_STUDY_KEYS,
    "a file of claims": FILE_KEYS,
}

# Of a condition, beside its fields: what its variant is beside its name.
OF_VARIANTS: Mapping[str, Declared] = {
    WITHOUT: Declared(
        "text", "filters of the variant that were left out for the page, with commas; absent without any"
    ),
    FILTER_SETTINGS: Declared(
        "text", "limits of its filters that are not usual: `inline_css.max_bytes=4096`; absent without any"
    ),
}
# Of the trials of a condition, beside their fields.
OF_TRIALS: Mapping[str, Declared] = {"looks": Declared("list", "blocks after which a condition may stop")}
# Of each key of a link as a record has it: what it means, where that is not what it means in a study ("").
LINK_OF_A_RECORD: Mapping[str, str] = {
    "name": "name of the link",
    "rtt_ms": "the full round-trip time; the sum of the delays, where the link says them",
    "WAY_mbps": "the rate of IP packets; of a trace its mean, of a step list the mean until its last step",
    "trace_WAY": "`file` and `sha256` of a Mahimahi trace, which lies in `rates/`",
    "steps_WAY": "`file` and `sha256` of a list of rates by time, which lies in `rates/`",
    "queue_WAY": "the kind of the queue: `droptail`, `codel`, `unlimited`",
    "queue_WAY_bytes": "its size in IP bytes; null without limit",
    "loss_WAY_percent": "mean share of packets lost at random",
    "gilbert_elliott_WAY": "`p`, `r`, `h`, `k` of bursty loss",
    "jitter_WAY_ms": "a uniform 0 to this is added to the delay of each packet, without reordering",
    "delay_WAY_ms": "the delay of one way; absent where the link says `rtt_ms` alone: half of it",
    "seed": "",
    "per_client": "true where each client address has such a link to itself; absent for others",
    "shared_WAY_mbps": "with `per_client`: what all clients share; null without limit, absent without `per_client`",
    "emulated": "false for the link `none`, which is no link; absent for others",
}
# Of each key of a reading of a link: what it means. Figures stand for several.
CALIBRATION: Mapping[str, str] = {
    "schema": "version of the format",
    "link": "link that was measured, as in a condition",
    "backend": "devices of the emulator: `tun` or `veth`; `none` of no link",
    "scheduling": "scheduling of the emulator: `fifo`, `slice`, `other`; `kernel` of no link",
    "arrivals": "what tells the emulator when a packet came: `kernel`, or `reader` (when it was read)",
    "seed": "seed of the losses and jitter of this measurement",
    "rtt_ms": "a figure: the round-trip time",
    "WAY_mbps": "a figure: the rate",
    "delay_WAY_ms": "a figure: the delay, where the link says it each way",
    "loss_WAY_percent": "a figure: lost packets, where the link loses any",
    "distance_N_ms": "a figure: the round-trip time to hosts that are so much further, where they are not equally far",
    "client_WAY_mbps": "with `per_client`, a figure: the rate of the median client",
    "client_WAY_off_percent": "with `per_client`, a figure: how far the rate of the worst client is off",
    "fairness_WAY": "with `per_client`, a figure: Jain's index",
    "client_delay_WAY_ms": "with `per_client`, a figure: the delay",
    "shared_WAY_mbps": "with `per_client`, a figure: the rate that all share, where these clients can fill it",
    "arrived_packets": "a figure, only where packets were lost that a right link carries: how many arrived of how many",
    "ok": "whether the link may be used",
    "complaints": "each figure that is out of tolerance, in words",
    "taken_utc": "when it was measured",
}

# Of each column of the data that is no metric and no field of a record or condition: what it means.
COLUMNS: Mapping[str, str] = {
    "run": "name of the run directory",
    COUNTS: "whether the report counts the attempt: `left_out` is empty, and no rule that compares loads leaves it out",
    "link": "name of the link",
    "down_mbps": "rate of the link towards the client",
    "up_mbps": "rate of the link towards the server",
    "rtt_ms": "round-trip time of the link",
    "queue_down_bytes": "size of the queue towards the client",
    "queue_up_bytes": "size of the queue towards the server",
    "users": "how many users come when",
    "connections": "connections of the closed loop",
    "depth": "requests under way on each connection",
}
