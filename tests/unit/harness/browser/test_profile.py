"""What the home of a browser keeps for a second load of a page."""

from __future__ import annotations

import json
from pathlib import Path

from harness.browser.profile import ChromiumHome


def test_a_second_load_has_what_was_kept_of_pages_and_nothing_of_connections(tmp_path: Path) -> None:
    home = ChromiumHome(tmp_path / "home", ("site.example",))
    home.make(None)
    first = json.loads((home.profile / "Default" / "Preferences").read_text())
    (home.profile / "Default" / "Cache" / "Cache_Data").mkdir(parents=True)
    (home.profile / "Default" / "Cache" / "Cache_Data" / "entry").write_text("body")
    (home.profile / "Default" / "Cookies").write_text("cookies")
    gone = (
        home.profile / "Default" / "Network Persistent State",
        home.profile / "Default" / "TransportSecurity",
        home.netlog,
        home.pid_file,
    )
    for path in gone:
        path.write_text("1")
    (home.profile / "Local State").write_text('{"variations_seed": "x"}')
    home.start_over(None)
    assert json.loads((home.profile / "Local State").read_text()) == {"auth": {"schemes": ""}}
    assert (home.profile / "Default" / "Cache" / "Cache_Data" / "entry").read_text() == "body"
    assert (home.profile / "Default" / "Cookies").read_text() == "cookies"
    assert not any(path.exists() for path in gone)
    assert json.loads((home.profile / "Default" / "Preferences").read_text()) == first
    assert [each.name for each in tmp_path.iterdir()] == ["home"]
