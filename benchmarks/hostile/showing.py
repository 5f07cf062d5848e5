"""Raw requests to `coldload show`: each is answered with the security headers, or closed, and the next one answered."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.hostile.cases import FORGED, HUNG, LEFT, TRACEBACK, Case, one_line, traceback_in
from benchmarks.hostile.commands import Running, Workdir
from benchmarks.hostile.runners import INTERRUPTED
from benchmarks.hostile.stage import RUN, acted_on, measured

START_S, ANSWER_S = 30.0, 20.0
HALF_OPEN = 300
ROW = "requests to show"
SECURITY = (b"content-security-policy:", b"x-content-type-options: nosniff", b"referrer-policy: no-referrer")
OK, REFUSED = {200}, {400, 403, 404, 405, 413, 414, 431, 501, 505}
ANY = OK | REFUSED | {302, 304, 308}


def get(
    path: str, *, method: str = "GET", version: str = "HTTP/1.1", **headers: str
) -> Callable[[str, str], bytes]:
    """A request for a path below the token; the underscores of header names become hyphens."""

    def made(host: str, token: str) -> bytes:
        named = {"Host": host, "Connection": "close"} | {
            name.replace("_", "-"): text for name, text in headers.items()
        }
        lines = "".join(f"{name}: {text}\r\n" for name, text in named.items())
        return f"{method} {path.replace('TOKEN', token)} {version}\r\n{lines}\r\n".encode("latin-1")

    return made


TRIAL = "/TOKEN/trials/00001/1"
# What is sent, and the statuses it may have; none when the connection may be closed without a word.
REQUESTS: Mapping[str, tuple[Callable[[str, str], bytes], set[int]]] = {
    **{f"page-{name}": (get(path), OK) for name, path in {
        "overview": "/TOKEN/", "verdicts": "/TOKEN/verdicts", "trials": "/TOKEN/trials", "trial": TRIAL,
        "compare": "/TOKEN/compare?of=00001&of=00002", "har": f"{TRIAL}/files/load.har",
        "waterfall": f"{TRIAL}/waterfall.svg",
    }.items()},
    **{f"file-{name}": (get(f"{TRIAL}/files/{path}"), REFUSED) for name, path in {
        "nul": "%00", "nul-behind": "load.har%00.html", "long": "n" * 300, "longer": "n" * 5000,
        "up": "..%2f..%2fplan.jsonl",
        "up-escaped": "%2e%2e%2f%2e%2e%2fplan.jsonl", "up-twice-escaped": "%252e%252e%252fplan.jsonl", "dot": ".",
        "dots": "..",
        "backslash": "..%5c..%5cplan.jsonl", "absolute": "%2fetc%2fpasswd", "control": "%1b%5b2J", "bad-utf8": "%ff%fe",
        "surrogate": "%ed%a0%80", "line": "a%0d%0aX-Owned:%201", "bidi": "%e2%80%ae", "folder": "filmstrip",
        "percent": "%",
    }.items()},
    **{f"path-{name}": (get(path), REFUSED) for name, path in {
        "nul": "/TOKEN/%00", "trial-nul": "/TOKEN/trials/%00/1", "trial-long": f"/TOKEN/trials/{'n' * 300}/1",
        "attempt-huge": f"/TOKEN/trials/00001/{'9' * 5000}", "attempt-negative": "/TOKEN/trials/00001/-1",
        "picture-up": f"{TRIAL}/picture/..%2f..%2f..%2fplan.jsonl", "picture-nul": f"{TRIAL}/picture/%00",
        "static-up": "/TOKEN/static/..%2fapp.py",
        "static-nul": "/TOKEN/static/%00", "condition-nul": "/TOKEN/conditions/%00", "no-token": "/",
        "token-cut": "/TOKEN",
        "token-wrong": "/TOKENx/", "token-utf8": "/%c3%a9%ff/",
        "star": "*",
        "long": "/TOKEN/" + "a" * 100_000,
    }.items()},
    **{f"query-{name}": (get(f"/TOKEN/{path}"), ANY) for name, path in {
        "nul": "trials?condition=%00", "control": "trials?condition=%1b%5b2J", "many": "compare?" + "of=x&" * 10_000,
        "sort": "trials?sort=%00&sort=../x", "huge": "compare?of=" + "9" * 50_000,
        "markup": "compare?of=<script>alert(1)</script>",
        "bad-utf8": "compare?of=%ff%fe", "surrogate": "compare?of=%ed%a0%80",
    }.items()},
    **{f"method-{name}": (get("/TOKEN/", method=name), REFUSED) for name in (
        "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "PROPFIND", "get", "G\x01T", "X" * 5000)},
    "method-HEAD": (get("/TOKEN/", method="HEAD"), OK),
    **{f"host-{name}": (get("/TOKEN/", Host=host), REFUSED) for name, host in {
        "evil": "evil.example", "empty": "", "suffix": "127.0.0.1.evil.example", "user": "127.0.0.1@evil.example",
        "two": "127.0.0.1, evil.example", "control": "127.0.0.1\x01", "port": "127.0.0.1:x", "long": "a" * 20_000,
    }.items()},
    **{f"header-{name}": (get("/TOKEN/", **{key: text}), ANY) for name, (key, text) in {
        "range": ("Range", "bytes=0-0,1-1,2-2" + ",3-3" * 2000), "range-huge": ("Range", f"bytes={'9' * 500}-"),
        "length-text": ("Content_Length", "x"), "length-negative": ("Content_Length", "-1"),
        "length-huge": ("Content_Length", "9" * 100), "chunked-and-length": ("Transfer_Encoding", "chunked"),
        "coding-unknown": ("Transfer_Encoding", "x"), "expect": ("Expect", "200-ok"), "upgrade": ("Upgrade", "h2c"),
        "since": ("If_Modified_Since", "x" * 5000), "etag": ("If_None_Match", '"' * 5000), "cookie": ("Cookie",
        "=;" * 5000),
        "forwarded": ("X_Forwarded_Host", "evil.example"), "accept": ("Accept", "q=" * 5000), "c1": ("X_Odd",
        "\x80\x9b"),
    }.items()},
    "slashes": (get(f"{TRIAL}/picture//etc/passwd"), ANY),
    "absolute-form": (get("http://evil.example/TOKEN/"), ANY),
    "version-0.9": (lambda _host, token: f"GET /{token}/\r\n\r\n".encode(), ANY),
    "version-1.0": (get("/TOKEN/", version="HTTP/1.0"), ANY),
    "version-2.0": (get("/TOKEN/", version="HTTP/2.0"), ANY),
    "version-odd": (get("/TOKEN/", version="HTTP/9999.x"), ANY),
    "preface-h2": (lambda _host, _token: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ANY),
    "hello-tls": (lambda _host, _token: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500, ANY),
    "zeros": (lambda _host, _token: b"\0" * 100_000, ANY),
    "lines": (lambda _host, _token: b"\r\n" * 50_000, ANY),
    "headers-many": (get("/TOKEN/", X="y\r\nX: y" * 100_000), ANY),
    "hosts-two": (get("/TOKEN/", X="y\r\nHost: evil.example"), ANY),
    "smuggled": (lambda host, token: (
        f"POST /{token}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").encode(), ANY),
    "chunk-odd": (lambda host, token: (
        f"GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n{'f' * 5000}\r\n").encode(), ANY),
    "half-open": (lambda _host, _token: b"GET / HT", set()),
    "half-body": (get("/TOKEN/", method="POST", Content_Length="99"), set()),
    "nothing": (lambda _host, _token: b"", set()),
}  # fmt: skip


def names(only: Callable[[str], bool]) -> list[str]:
    return [name for name in (f"show/{request}" for request in REQUESTS) if only(name)]


def ask_all(wanted: Sequence[str], folder: Path) -> Iterator[Case]:
    """Every request to one server, which then ends by Ctrl-C."""
    if not wanted:
        return
    workdir = measured(folder)
    with workdir.started("show", RUN) as running:
        host, token = _address(running)
        for name in wanted:
            began = time.monotonic()
            faults, said = _asked(host, token, *REQUESTS[name.removeprefix("show/")])
            if trace := traceback_in(running.written()):
                faults[TRACEBACK] = trace
            yield Case(ROW, name, said, time.monotonic() - began, faults)
        yield _ended(running, workdir)


def _address(running: Running) -> tuple[str, str]:
    """Host with port, and token."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and running.alive:
        if found := re.search(r"http://(\S+)/(\S+)/\n", running.out.read_text()):
            return found[1], found[2]
        time.sleep(0.05)
    raise AssertionError(f"coldload show gave no address: {running.written()}")


def _asked(
    host: str, token: str, request: Callable[[str, str], bytes], statuses: set[int]
) -> tuple[dict[str, str], str]:
    """One request, or as many as stand half open, and behind it an ordinary one."""
    faults: dict[str, str] = {}
    with contextlib.ExitStack() as around:
        if statuses:
            answer = _exchanged(host, request(host, token))
        else:
            answer = b""
            for _ in range(HALF_OPEN):
                around.enter_context(_connected(host)).sendall(request(host, token))
        faults |= _wrong(answer, statuses) if answer else {}
        following = _exchanged(host, get("/TOKEN/")(host, token))
    if answer is None or following is None:
        faults[HUNG] = (
            f"no answer within {ANSWER_S:g} s{'' if answer is None else ' to the request behind it'}"
        )
    elif not following.startswith(b"HTTP/1.1 200 "):
        faults[TRACEBACK] = f"an ordinary request behind it is answered {following[:60]!r}"
    return faults, one_line(repr((answer or b"")[:80]))


def _wrong(answer: bytes, statuses: set[int]) -> dict[str, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d{3}) ", head)
    if status is None or int(status[1]) not in statuses:
        return {TRACEBACK: f"answered {head[:80]!r}: {body[:200]!r}"}
    lacking = [header.decode() for header in SECURITY if header not in head.lower()]
    if lacking:
        return {FORGED: f"status {int(status[1])} without {', '.join(lacking)}"}
    if b"x-owned" in head.lower() or b"root:" in body or b'"seed"' in body:
        return {FORGED: "a header of the request, or a file that is none of the run's trials"}
    if b"application/json" not in head and (came := acted_on(body.decode(errors="replace"))):
        return {FORGED: f"hostile characters: {sorted(came)}"}
    return {}


def _exchanged(host: str, request: bytes) -> bytes | None:
    """All that is answered until the other side closes; None when nothing comes."""
    with contextlib.closing(_connected(host)) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        connection.settimeout(ANSWER_S)
        answer = b""
        try:
            while data := connection.recv(1 << 16):
                answer += data
        except TimeoutError:
            return answer or None
        except ConnectionResetError:
            pass
        return answer


def _connected(host: str) -> socket.socket:
    parts = urlsplit(f"//{host}")
    return socket.create_connection((parts.hostname, parts.port), timeout=ANSWER_S)


def _ended(running: Running, workdir: Workdir) -> Case:
    began, faults = time.monotonic(), {}
    running.popen.send_signal(signal.SIGINT)
    if not running.ends_within(5):
        faults[HUNG] = "it does not end by Ctrl-C"
    code = running.popen.poll()
    if code not in (0, INTERRUPTED):
        faults[TRACEBACK] = f"exit code {code}: {one_line(running.written())}"
    if left := workdir.left_behind():
        faults[LEFT] = "; ".join(left)
    return Case(ROW, "show/ended", f"exit code {code}", time.monotonic() - began, faults)
