"""`coldload advise` with real loads of a small page and little time: a study like any other underneath."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.system.conftest import Coldload, small_site, timed

pytestmark = pytest.mark.lengthy

BUDGET_S = 180
SPARE_S = 150  # of a loaded machine, for what comes before and after the loads


@timed("a busy machine has no time for a single load")
def test_a_page_is_advised_on_within_the_time(coldload: Coldload, tmp_path: Path) -> None:
    small_site(coldload.folder / "archives")
    run = tmp_path / "run"
    words = ("advise", "small", "--link", "cable", "--budget", f"{BUDGET_S}s", "--out", str(run))
    began_s = time.monotonic()
    code, said, wrong = coldload.run(*words)
    assert time.monotonic() - began_s < BUDGET_S + SPARE_S
    assert code == 0 or (code == 1 and "nothing counts yet" in wrong), said + wrong  # 1: all left out as busy
    told = json.loads((run / "advice.json").read_text())
    names = {each["name"] for each in told["alternatives"]}
    study = (run / "study.toml").read_text()
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    assert names
    assert all(f'name = "{name}"' in study for name in names)
    assert any(each["left_out"] is None for each in records) or code == 1
    links = {link["link"] for each in told["alternatives"] for link in each["links"]}
    assert links == {"cable"} or (code == 1 and not links)
    assert {"convert_to_avif", "combine_javascript"} & told["nothing_to_do"].keys()
    assert (run / "report.html").is_file()
    page = (run / "advice.html").read_text()
    assert all(name in page for name in names)
    assert f"advice: {run / 'advice.html'}" in said
    (run / "advice.html").unlink()
    again, said, wrong = coldload.run("report", str(run))
    assert again == code, wrong
    assert (run / "advice.html").read_text() == page
    code, said, wrong = coldload.run("pack", str(run))
    assert code == 0, wrong
    coldload.run("report", str(tmp_path / "run.zip"), "--out", str(tmp_path / "packed"))
    assert (
        json.loads((tmp_path / "packed" / "advice.json").read_text())["alternatives"] == told["alternatives"]
    )
    assert coldload.left_behind() == []
