"""An imported HAR whose texts name all kinds of character sets: the browser must read what was recorded.

Each frame names the text that it shows in the address of a picture, and only the right ones are in the recording.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import Outcome
from harness.model.protocol import Protocol
from harness.records import Record
from harness.trial.trial import browser_lab
from sites.archive import Archive, open_archive
from sites.importers import import_recording
from tests.facts import tells
from tests.system.conftest import Coldload, condition, inside, picture, trial
from tests.unit.sites.importers.recordings import entry, har, saved

pytestmark = pytest.mark.side_by_side

START = "https://one.example/"
TEXTS = {
    "iso-8859-1": "é€\x81",
    "us-ascii": "“",
    "iso-8859-9": "ğ€",
    "tis-620": "ก€",
    "x-mac-cyrillic": "ж",
    "iso-8859-8-i": "א",
    "koi8-u": "ї╝",
    "shift_jis": "①髙",
    "x-sjis": "〜",  # not in it as browsers read it
    "euc-jp": "あ",
    "iso-2022-jp": "あア",
    "gb2312": "镕€",
    "gb18030": "ḿ龴",
    "big5": "中‧",
    "ks_c_5601-1987": "똠",
    "utf-16": "é",
    "x-user-defined": "\uf7e9",
    "iso-2022-kr": "한",
    "no-such-label": "é",
}
SHOW = "{}.map.call({},x=>x.charCodeAt(0).toString(16)).join('-')"
ASK = f"new Image().src='/m/'+{SHOW.format('[]', 'text')}+'.png'"
BODY = f"<p id=t>{{}}</p><script>var text=document.getElementById('t').textContent;{ASK}</script>"
STYLED = "document.defaultView.getComputedStyle(document.getElementById('t'),'::before').content.slice(1,-1)"


def pages() -> dict[str, tuple[str, str]]:
    """Type and text by address. What a header names, a <meta>, @charset, and what names nothing."""
    made = {label: (f"text/html; charset={label}", BODY.format(text)) for label, text in TEXTS.items()}
    made["meta"] = ("text/html", f"<meta charset=windows-1251>{BODY.format('ж')}")
    made["late"] = ("text/html", f"<title>{'x' * 3000}</title><meta charset=koi8-r>{BODY.format('ж')}")
    made["none"] = ("text/html", BODY.format("ö"))
    linked = "<link rel=stylesheet href=/s.css><script src=/s.js></script><p id=t>"
    made["linked"] = (
        "text/html; charset=windows-1251",
        f"{linked}<script>var text=told+{STYLED};{ASK}</script>",
    )
    made["s.js"] = ("text/javascript", "var told = 'ш'")
    made["s.css"] = ("text/css", '@charset "iso-8859-7"; p::before { content: "λ" }')
    return made


def recording(root: Path) -> Archive:
    made = pages()
    frames = "".join(f"<iframe src=/{name}></iframe>" for name in made if name not in ("s.js", "s.css"))
    entries: list[dict[str, Any]] = [entry(START, f"<!doctype html><link rel=icon href=data:,>{frames}")]
    for name, (mime, text) in made.items():
        coding = [{"name": "Content-Encoding", "value": "UTF-8"}, {"name": "Content-Type", "value": mime}]
        entries.append(entry(f"{START}{name}", text, mime, headers=coding))
    for text in dict.fromkeys((*TEXTS.values(), "ж", "ö", "шλ")):
        shown = "-".join(f"{ord(character):x}" for character in text)
        entries.append(entry(f"{START}m/{shown}.png", picture(8), "image/png"))
    return import_recording(saved(root, har(*entries)), root / "archives", "page")


def loads(archive: Archive) -> list[Record]:
    protocols = (Protocol.HTTP1, Protocol.H2)
    with browser_lab({"page": archive}, protocols) as opened:
        return [trial(opened, n, condition("page", protocol)) for n, protocol in enumerate(protocols, 1)]


def test_the_browser_reads_the_text_that_was_recorded(tmp_path: Path) -> None:
    archive = recording(tmp_path)
    for record in inside(lambda: loads(archive)):
        assert (record.outcome, record.reason) == (Outcome.OK, None)
        assert record.observation.missed == ()
        # Each frame asks for a picture; the script and the style sheet do not.
        assert record.observation.requests == 1 + len(pages()) + len(pages()) - 2


def test_the_folder_of_a_site_is_served_and_archived(coldload: Coldload) -> None:
    """What a script asks for is found, what nothing asks for is not; where it was served tells nothing of the site."""
    folder = coldload.folder / "shop"
    (folder / "css").mkdir(parents=True)
    (folder / "index.html").write_text(
        "<!doctype html><link rel=stylesheet href=css/s.css><script>new Image().src = '/x' + 1 + '.png'</script>"
        "<script src=https://cdn.example/none.js></script>"
    )
    (folder / "css" / "s.css").write_text("body { color: green }\n" * 200)
    (folder / "x1.png").write_bytes(picture())
    (folder / "unused.png").write_bytes(picture())
    code, out, err = coldload.run("import", "shop")
    assert code == 0, err
    archive = open_archive(coldload.folder / "archives", "shop")
    base = "https://shop.example/"
    assert archive.start_url == base
    urls = {entry.url for entry in archive.entries}
    assert {base, f"{base}css/s.css", f"{base}x1.png"} <= urls
    assert f"{base}unused.png" not in urls
    assert tells(out, "served and loaded")
    assert "https://cdn.example/none.js" in out
    assert "uncompressed" not in out
    assert {(each.ip, each.wait_ms, each.connect_ms) for each in archive.entries} == {(None, None, None)}
    code, _, err = coldload.run("import", "shop")
    assert (code, "there is an archive shop" in err) == (2, True)
    code, _, err = coldload.run("verify", "shop", "--protocol", "h2")
    assert code == 0, err
