"""`--only` on studies of crowds and request rates, and what `plan` says of them."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from harness.cli.plan import conditions_table
from harness.cli.studychoice import chosen
from harness.errors import StudyError

CROWDS = """
kind = "users"
name = "crowds"
pages = ["one"]
protocols = ["h2", "h3"]
server = ["apache", "caddy"]
compression = ["none", "brotli-5-dynamic"]
users = {from = 1, to = 10, over_s = 30}
[[links]]
per_client = true
down_mbps = 5
rtt_ms = 10
"""


def options(folder: Path, *only: str) -> argparse.Namespace:
    path = folder / "crowds.toml"
    path.write_text(CROWDS)
    return argparse.Namespace(study=str(path), trials=None, until=None, only=list(only), without=[])


def test_only_a_server_leaves_what_is_measured_with_it(tmp_path: Path) -> None:
    _, whole = chosen(options(tmp_path))
    _, at_caddy = chosen(options(tmp_path, "server=caddy"))
    assert at_caddy.conditions == tuple(each for each in whole.conditions if each.server == "caddy")
    assert (at_caddy.text, at_caddy.options) == (whole.text, (("--only", "server=caddy"),))
    _, at_apache = chosen(options(tmp_path, "server=apache"))
    assert at_apache.protocols == ("h2",)
    assert at_apache.conditions == tuple(each for each in whole.conditions if each.server == "apache")


def test_a_server_that_the_study_lacks_is_named_with_those_it_has(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no such server; it has: apache, caddy"):
        chosen(options(tmp_path, "server=nginx"))


def test_only_several_values_of_a_key(tmp_path: Path) -> None:
    _, whole = chosen(options(tmp_path))
    _, kept = chosen(options(tmp_path, "server=apache", "compression=none,brotli-5-dynamic"))
    assert kept.conditions == tuple(each for each in whole.conditions if each.server == "apache")
    assert kept.options[1:] == (("--only", "compression=none,brotli-5-dynamic"),)
    _, kept = chosen(options(tmp_path, "protocol=h2,h3", "protocol=h3"))
    assert kept.protocols == ("h3",)
    with pytest.raises(StudyError, match=r"--only protocol=h2,h4: .*'h4' .*; it has: h2, h3"):
        chosen(options(tmp_path, "protocol=h2,h4"))
    with pytest.raises(StudyError, match="no such server; it has: apache, caddy"):
        chosen(options(tmp_path, "server=apache,caddy"))
    for word, meant in (("http2", "h2"), ("quic", "h3")):
        with pytest.raises(StudyError, match=rf"no such protocol \(did you mean {meant}\?\); it has: h2, h3"):
            chosen(options(tmp_path, f"protocol={word}"))
    with pytest.raises(StudyError, match=r"key .*figure \(did you mean protocol\?\)"):
        chosen(options(tmp_path, "protokol=h2"))


def test_the_plan_shows_server_and_load_of_a_crowd(tmp_path: Path) -> None:
    _, study = chosen(options(tmp_path, "server=apache"))
    head, *rows = conditions_table(study)
    assert head.split() == [
        *("group", "page", "variant", "compression", "link", "protocol", "engine"),
        *("server", "users"),
    ]
    assert all("apache" in row and "1 to 10 in 30 s" in row for row in rows)
