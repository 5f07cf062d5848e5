"""What is observed of a load: the one place where a metric of loads is declared.

The keys of a record, the columns of the report and docs/reference/metrics.md follow from the fields below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.model.engine import Capability
from harness.model.metric import Column, MetricTable, Source, Unit, metric, metrics_declared

MS, S, BYTES, COUNT = Unit.MS, Unit.S, Unit.BYTES, Unit.COUNT
TIMELINE, BROWSER_LOG, SERVER_LOG = Source.TIMELINE, Source.BROWSER_LOG, Source.SERVER_LOG
VITALS, FILM = Source.VITALS, Source.FILM
BOTH_LOGS, EMULATOR, PROC = Source.BOTH_LOGS, Source.EMULATOR, Source.PROC
TRAFFIC, SERVER, OTHER_TIMES = MetricTable.TRAFFIC, MetricTable.SERVER, MetricTable.OTHER_TIMES


@dataclass(frozen=True)
class Observation:
    """What one load showed. Anything not observed is None, never 0. Times are ms since navigation start."""

    navigate_ms: float | None = metric(
        "navigate()",
        MS,
        Source.DRIVER,
        "wall time of the driver's own navigate call, the metric of the 2012 study",
        Column(OTHER_TIMES, 1),
    )
    plt_ms: float | None = metric(
        "Page-load time", MS, TIMELINE, "navigation start to the end of the load event: the default metric"
    )
    ttfb_ms: float | None = metric(
        "First byte", MS, TIMELINE, "first byte of the page (`responseStart`)", Column(OTHER_TIMES, 2)
    )
    dcl_ms: float | None = metric(
        "DOM ready",
        MS,
        TIMELINE,
        "page parsed and its scripts run (`domContentLoadedEventEnd`)",
        Column(OTHER_TIMES, 3),
    )
    fcp_ms: float | None = metric(
        "First paint",
        MS,
        VITALS,
        "first contentful paint, seen until two frames after the load event or, with vitals, until `observed_ms`",
        Column(OTHER_TIMES, 4),
    )
    lcp_ms: float | None = metric(
        "Largest paint",
        MS,
        VITALS,
        "largest contentful paint until `observed_ms`, frames included",
        Column(OTHER_TIMES, 5),
    )
    lcp_element: str | None = metric(
        "Largest element",
        Unit.TEXT,
        VITALS,
        "what was painted at `lcp_ms`: name, id and classes of the element",
    )
    lcp_url: str | None = metric(
        "Largest element's URL",
        Unit.TEXT,
        VITALS,
        "the address of the picture painted at `lcp_ms`; of text none",
    )
    cls: float | None = metric(
        "Layout shift",
        Unit.SCORE,
        VITALS,
        "cumulative layout shift until `observed_ms`, frames included: the largest session window",
        Column(OTHER_TIMES, 8),
    )
    tbt_ms: float | None = metric(
        "Blocked",
        MS,
        VITALS,
        "sum of long tasks' time beyond 50 ms, of the parts between `fcp_ms` and `observed_ms`",
        Column(OTHER_TIMES, 7),
    )
    settled: bool | None = metric(
        "Settled", Unit.FLAG, VITALS, "whether the page had come to rest within 10 s; null: not waited for"
    )
    observed_ms: float | None = metric("Observed", MS, VITALS, "until when the page was observed")
    dropped_entries: int | None = metric(
        "Entries dropped", COUNT, VITALS, "paints, shifts and tasks that the browser dropped unseen"
    )
    unread_frames: int | None = metric(
        "Frames not read", COUNT, VITALS, "frames of the page whose paints and shifts could not be read"
    )
    painted: bool | None = metric(
        "Painted", Unit.FLAG, TIMELINE, "whether there was a contentful paint two frames after the load event"
    )
    traced: bool | None = metric(
        "Traced", Unit.FLAG, Source.TRACE, "true when a trace was recorded while the page loaded, else null"
    )
    main_thread_ms: float | None = metric(
        "Main thread",
        MS,
        Source.TRACE,
        "time of the tasks of the page's main thread until the end of the load event",
    )
    script_ms: float | None = metric("Scripts", MS, Source.TRACE, "of it: compiling and running scripts")
    style_layout_ms: float | None = metric("Style and layout", MS, Source.TRACE, "of it: style and layout")
    paint_ms: float | None = metric("Painting", MS, Source.TRACE, "of it: painting and layers")
    parse_ms: float | None = metric("Parsing", MS, Source.TRACE, "of it: parsing HTML and style sheets")
    gc_ms: float | None = metric("Garbage collection", MS, Source.TRACE, "of it: garbage collection")
    longest_tasks: tuple[str, ...] | None = metric(
        "Longest tasks",
        Unit.TEXTS,
        Source.TRACE,
        "the ten longest tasks of the whole trace, with the script that ran longest in each",
    )
    filmed: bool | None = metric(
        "Filmed", Unit.FLAG, FILM, "true when the page was filmed while it loaded, else null"
    )
    speed_index_ms: float | None = metric(
        "Speed index",
        MS,
        FILM,
        "Speed Index: the time until `last_visual_change_ms`, each part of it times what was not yet seen",
        Column(OTHER_TIMES, 6),
    )
    first_visual_change_ms: float | None = metric(
        "First change", MS, FILM, "when the first picture came that differs from that at navigation start"
    )
    last_visual_change_ms: float | None = metric(
        "Last change", MS, FILM, "when the last picture came that differs from the one before"
    )
    visually_complete_85_ms: float | None = metric(
        "85 % complete", MS, FILM, "when visual progress first was 85 % or more"
    )
    film_frames: int | None = metric(
        "Frames", COUNT, FILM, "pictures of the film that differ from the one before"
    )
    film_cut: bool | None = metric(
        "Film cut", Unit.FLAG, FILM, "whether the film ends before the page came to rest, for want of room"
    )
    requests: int | None = metric(
        "Requests",
        COUNT,
        BROWSER_LOG,
        "the page's requests that started before its load event ended",
        Column(TRAFFIC, 4),
    )
    requests_after_load: int | None = metric(
        "Requests later", COUNT, BROWSER_LOG, "those that started later, until the browser was closed"
    )
    failed_requests: int | None = metric(
        "Failed",
        COUNT,
        BROWSER_LOG,
        "of `requests`: without a response or with status 400 and above; not cancelled ones",
        Column(TRAFFIC, 7),
    )
    missed_requests: int | None = metric(
        "Not archived",
        COUNT,
        BOTH_LOGS,
        "how many URLs of `requests` the archive does not hold",
        Column(TRAFFIC, 6),
    )
    fuzzy_requests: int | None = metric(
        "Closest",
        COUNT,
        BOTH_LOGS,
        "how many URLs of `requests` got the response recorded for another address",
        Column(TRAFFIC, 5),
    )
    cache_hits: int | None = metric(
        "Cache hits",
        COUNT,
        BROWSER_LOG,
        "requests answered out of the cache, without asking; not among `requests`",
        needs=Capability.KEEPS_CACHE,
    )
    revalidated: int | None = metric(
        "Revalidated", COUNT, BROWSER_LOG, "of `requests`: the server confirmed what the cache held (304)"
    )
    connections: int | None = metric(
        "Connections",
        COUNT,
        BROWSER_LOG,
        "TCP or QUIC connections the browser established, spare ones included",
        Column(TRAFFIC, 8),
    )
    connect_ms: float | None = metric(
        "Handshake",
        MS,
        BROWSER_LOG,
        "the shortest TCP handshake; of QUIC, first packet out to first packet back",
    )
    tls: Mapping[str, int] = metric(
        "TLS", Unit.COUNTS, BROWSER_LOG, "how many of `connections` had each version of TLS", unobserved=dict
    )
    tls_resumed: int | None = metric(
        "TLS resumed",
        COUNT,
        BROWSER_LOG,
        "how many of `connections` resumed a TLS session",
        needs=Capability.RESUMES_TLS,
    )
    h2_stream_window_bytes: int | None = metric(
        "HTTP/2 window",
        BYTES,
        BROWSER_LOG,
        "the window for a stream that the browser's SETTINGS of HTTP/2 name",
        needs=Capability.SETS_H2_WINDOW,
    )
    bytes_down: int | None = metric(
        "Down",
        BYTES,
        EMULATOR,
        "IP bytes (headers included) that the link delivered to the client",
        Column(TRAFFIC, 1),
        Column(SERVER, 3, "Sent"),
    )
    bytes_up: int | None = metric(
        "Up",
        BYTES,
        EMULATOR,
        "IP bytes (headers included) that the link delivered to the server",
        Column(TRAFFIC, 2),
        Column(SERVER, 4, "Received"),
    )
    bytes_body: int | None = metric(
        "Bodies",
        BYTES,
        BROWSER_LOG,
        "body bytes of `requests` as they travelled (still compressed)",
        Column(TRAFFIC, 3),
    )
    protocols: Mapping[str, int] = metric(
        "Protocols",
        Unit.COUNTS,
        BROWSER_LOG,
        "how many of `requests` each protocol carried, by its ALPN name",
        unobserved=dict,
    )
    one_sided_requests: int | None = metric(
        "Proved by the server alone",
        COUNT,
        BROWSER_LOG,
        "of `requests`: answered, and the browser does not tell by which protocol; the server's log does",
    )
    missed: tuple[str, ...] = metric(
        "URLs not archived", Unit.TEXTS, BOTH_LOGS, "the URLs of `missed_requests`", unobserved=tuple
    )
    fuzzy: tuple[str, ...] = metric(
        "URLs answered by the closest",
        Unit.TEXTS,
        BOTH_LOGS,
        "the URLs of `fuzzy_requests`",
        unobserved=tuple,
    )
    failed: tuple[str, ...] = metric(
        "URLs that failed",
        Unit.TEXTS,
        BROWSER_LOG,
        "the URLs of `failed_requests` with status or error",
        unobserved=tuple,
    )
    service_requests: int | None = metric(
        "Requests of the browser",
        COUNT,
        BROWSER_LOG,
        "requests the browser made for itself that reached the network",
    )
    relayed_requests: int | None = metric(
        "Requests relayed",
        COUNT,
        BROWSER_LOG,
        "of `requests`: asked for under https, passed on in plain http by a hop",
    )
    server_requests: int | None = metric(
        "Requests answered", COUNT, SERVER_LOG, "requests the server answered", Column(SERVER, 1)
    )
    server_connections: int | None = metric(
        "Connections of the server",
        COUNT,
        SERVER_LOG,
        "connections that carried a request the server answered",
        Column(SERVER, 2, "Connections"),
    )
    pipelining_depth: int | None = metric(
        "Pipelined",
        COUNT,
        SERVER_LOG,
        "of HTTP/1.1: the most requests of a connection at the server at once",
        Column(TRAFFIC, 9),
    )
    spdy_streams: int | None = metric(
        "SPDY streams",
        COUNT,
        SERVER_LOG,
        "of SPDY: SYN_STREAM frames the server got, over all connections",
        Column(TRAFFIC, 10),
        needs=Capability.SPDY,
    )
    link_reading: Mapping[str, Any] | None = metric(
        "Link",
        Unit.READING,
        EMULATOR,
        "the emulator's counters at the load event",
        Column(TRAFFIC, 11, "Lost in queue", part="down_drops_queue"),
    )
    client_cpu_s: float | None = metric(
        "Browser's CPU",
        S,
        PROC,
        "CPU time of the browser's processes until the load event, in steps of 10 ms",
    )
    server_cpu_s: float | None = metric(
        "Server's CPU",
        S,
        PROC,
        "CPU time of the replay server during the trial, in steps of 10 ms",
        Column(SERVER, 5, "CPU"),
    )
    foreign_cpu_share: float | None = metric(
        "CPU of others", Unit.SHARE, PROC, "share of the cores' time that others had while the page loaded"
    )
    steal_share: float | None = metric(
        "CPU of the host",
        Unit.SHARE,
        PROC,
        "of `foreign_cpu_share`: what the host of a virtual machine kept for itself",
    )
    console_errors: tuple[str, ...] | None = metric(
        "Console errors",
        Unit.TEXTS,
        Source.CONSOLE,
        "errors on the page's console and uncaught exceptions, the first 20",
    )
    console_error_count: int | None = metric(
        "Console errors known", COUNT, Source.CONSOLE, "how many of these errors the browser knew of"
    )
    server_stopped_ms: float | None = metric(
        "Server stopped", MS, PROC, "how long a process that serves was stopped while the page loaded"
    )
    server_late_ms: float | None = metric(
        "Server late",
        MS,
        PROC,
        "how long threads that serve were ready to run and waited for a core, all together",
    )
    server_thread_late_ms: float | None = metric(
        "Server's thread late", MS, PROC, "of `server_late_ms`: the thread that waited the longest"
    )
    client_stopped_ms: float | None = metric(
        "Browser stopped", MS, PROC, "how long a process of the browser was stopped while the page loaded"
    )
    client_late_ms: float | None = metric(
        "Browser late",
        MS,
        PROC,
        "how long threads of the browser were ready to run and waited for a core, all together",
    )
    client_thread_late_ms: float | None = metric(
        "Browser's thread late", MS, PROC, "of `client_late_ms`: the thread that waited the longest"
    )
    at_full_speed: int | None = metric(
        "At full speed",
        COUNT,
        Source.DRIVER,
        "with `cpu_slowdown`: workers, frames and windows of the page that were not slowed, at the load event",
        needs=Capability.SLOWS_CPU,
    )
    blank: bool | None = metric(
        "Blank",
        Unit.FLAG,
        Source.VIEWPORT,
        "whether the viewport was of one colour when the load event had ended",
    )
    waited_down_ms: float | None = metric(
        "Link down",
        MS,
        Source.ALL,
        "of `plt_ms`: bytes of the page's answers were on their way out of the link, or in its queue",
    )
    waited_up_ms: float | None = metric(
        "Link up", MS, Source.ALL, "of the rest: bytes of its requests waited for the link, or filled it"
    )
    waited_handshakes_ms: float | None = metric(
        "Handshakes", MS, Source.ALL, "of the rest: requests waited for look-ups of names, TCP, TLS or QUIC"
    )
    waited_server_ms: float | None = metric(
        "Server", MS, Source.ALL, "of the rest: the server had a request and had not begun to answer"
    )
    waited_round_trips_ms: float | None = metric(
        "Round trips", MS, Source.ALL, "of the rest: requests or answers were under way, with nothing to send"
    )
    waited_main_thread_ms: float | None = metric(
        "Page's main thread", MS, Source.ALL, "of the rest: the page's main thread ran"
    )
    waited_unknown_ms: float | None = metric(
        "Nothing known", MS, Source.ALL, "of the rest: all of it, so that the seven add up to `plt_ms`"
    )
    requested: tuple[str, ...] = ()  # stored beside the records, once for each digest
    requested_digest: str | None = metric(
        "Digest of URLs",
        Unit.TEXT,
        BROWSER_LOG,
        "of the URLs of `requests`; `requested.jsonl` holds each list once",
    )


METRICS = metrics_declared(Observation)
MAIN_METRIC = "plt_ms"  # what a report is about, unless it says otherwise
TIMELINE_METRICS = tuple(key for key, each in METRICS.items() if each.source is TIMELINE)
VITALS_METRICS = tuple(key for key, each in METRICS.items() if each.source is VITALS)
