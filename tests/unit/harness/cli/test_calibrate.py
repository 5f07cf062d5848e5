"""The links that `coldload calibrate` measures."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.cli.calibrate import _links

STUDY = """
name = "mine"
pages = ["one"]
protocols = ["http1"]
[[links]]
name = "near"
down_mbps = 10
rtt_ms = 20
[[factors]]
name = "1 % loss"
link = {name = "lossy", loss_down_percent = 1}
[[factors]]
name = "1 % loss, initial window 3"
link = {name = "lossy", loss_down_percent = 1}
tcp = {initial_window = 3}
"""


def test_the_links_of_a_study_are_those_of_all_its_factors_each_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(STUDY)
    links = _links(argparse.Namespace(link=["cable"], all=False, study=str(path)))
    assert [link.name for link in links] == ["cable", "near", "lossy"]
