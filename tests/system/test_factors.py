"""The factors of a study, from its file to what is loaded: each part has the settings it asks for, and no other."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from harness.cli import studychoice
from harness.lab.emulated import DEVICE
from harness.lab.lab import opened, parts_of
from harness.model.condition import Served
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from harness.study.studyfile import parse_study
from harness.system.program import Command, run
from harness.trial.trial import BrowserLab
from sites.archive import write_archive
from sites.coding import encode
from sites.response import Response
from sites.warc import About
from tests.system.conftest import Coldload, ended_well, inside, small_site

pytestmark = pytest.mark.lengthy

STUDY = """
name = "tiny"
pages = ["small"]
protocols = ["http1", "h2"]
server = "nginx"
portraits = false
trials = {least = 1, attempts = 1}
aa = false
seed = 1
timeout_s = 20
[[links]]
down_mbps = 20
rtt_ms = 10
[[factors]]
name = "initial window 3"
tcp = {initial_window = 3, slow_start_after_idle = false}
[[factors]]
name = "chain of 3"
certificate_chain = 3
[[factors]]
name = "small windows"
protocols = ["h2"]
h2_stream_window_bytes = 65_535
[[factors]]
name = "names known"
dns = "client"
[[factors]]
name = "lossy"
link = {name = "lossy", loss_down_percent = 0.5}
"""

CROWD = """
name = "crowd"
kind = "users"
pages = ["small"]
protocols = ["https1"]
server = "few"
trials = {least = 1, attempts = 1}
aa = false
seed = 1
users = {steps = [2], step_s = 4, think_s = 0.5, page_timeout_s = 10, bucket_s = 1}
[[links]]
per_client = true
down_mbps = 20
rtt_ms = 100
[servers.few]
program = "apache"
mpm = "worker"
[[factors]]
name = "window of 1"
tcp = {initial_window = 1}
[[factors]]
name = "TLS 1.2"
tls = "1.2"
[[factors]]
name = "short queue"
servers = {few = {program = "apache", mpm = "worker", ListenBacklog = 4}}
[[factors]]
name = "more users"
users = {steps = [3], step_s = 4, think_s = 0.5, page_timeout_s = 10, bucket_s = 1}
"""


def test_what_is_served_alike_has_one_server_and_each_part_its_own_tcp(tmp_path: Path) -> None:
    archive = small_site(tmp_path)
    study = parse_study(STUDY, "tiny.toml")

    def place(factor: str, protocol: Protocol = Protocol.H2) -> Served:
        return Served("small", protocol, Engine.CHROMIUM, factor=factor)

    def seen() -> tuple[set[str], list[str], list[str]]:
        archives = {Engine.CHROMIUM: {"small": archive}}
        with opened(BrowserLab(archives, parts_of(study), study.tcp)) as lab:
            there = lab.testbed.endpoints
            alike = {
                each.factor
                for each in study.parts
                if there[place(each.factor)].server is there[place("usual")].server
            }
            routes, sysctls = [], []
            for factor in ("usual", "initial window 3", "usual"):
                with lab.testbed.client(study.links[0], tcp=there[place(factor)].tcp) as client:
                    for host in (client.host, lab.testbed.server):
                        routes.append(run(Command.of("ip", "route", "show", "dev", DEVICE).on(host.path)))
                    idle = Command.of("cat", "/proc/sys/net/ipv4/tcp_slow_start_after_idle")
                    sysctls.append(run(idle.on(lab.testbed.server.path)).strip())
        return alike, routes, sysctls

    alike, routes, sysctls = inside(seen)
    assert alike == {"usual", "initial window 3", "lossy"}
    assert [("initcwnd 10" in each, "initcwnd 3 " in each) for each in routes] == [
        *[(True, False)] * 2,
        *[(False, True)] * 2,
        *[(True, False)] * 2,
    ]
    assert sysctls == ["1", "0", "1"]


def test_names_that_the_client_knows_are_not_asked_for(tmp_path: Path) -> None:
    archive = small_site(tmp_path)
    study = parse_study(STUDY, "tiny.toml")

    def answers() -> list[str | None]:
        with opened(BrowserLab({Engine.CHROMIUM: {"small": archive}}, parts_of(study), study.tcp)) as lab:
            found = []
            for factor in ("names known", "usual"):
                endpoint = lab.testbed.endpoints[Served("small", Protocol.H2, Engine.CHROMIUM, factor=factor)]
                lab.testbed.resolver.use(endpoint.address, endpoint.known_names)
                found.append(_looked_up(archive.hosts[0]))
            return found

    known, unknown = inside(answers)
    assert known is not None
    assert unknown is None  # the name server is on the server host, and there is no link to it


SAME_BODIES = """
name = "tiny"
pages = ["coded"]
protocols = ["http1", "h2"]
portraits = false
trials = {least = 1, attempts = 1}
links = ["dsl"]
[[factors]]
name = "TLS 1.2"
tls = "1.2"
protocols = ["h2"]
[[factors]]
name = "HTTP/3"
protocols = ["h2", "h3"]
"""


def test_whatever_is_served_together_all_that_is_compared_has_the_same_bodies(tmp_path: Path) -> None:
    """A page that was recorded with brotli, which no browser takes over plain http."""
    coded = (("Content-Type", "text/html"), ("Content-Encoding", "br"))
    page = Response("https://site.example/", 200, coded, encode(b"<title>t</title>" * 100, "br", 0))
    archive = write_archive(tmp_path, "coded", About(page.url, "test", "test", ()), [page])

    def codings(*chosen: str) -> dict[tuple[str, str], str]:
        study = parse_study(SAME_BODIES, "tiny.toml")
        for choice in chosen:
            study = studychoice._only(study, choice)
        with opened(BrowserLab({Engine.CHROMIUM: {"coded": archive}}, parts_of(study), study.tcp)) as lab:
            return {
                (served.factor, str(served.protocol)): dict(endpoint.site.objects[0].headers)[
                    "Content-Encoding"
                ]
                for served, endpoint in lab.testbed.endpoints.items()
            }

    whole = inside(codings)
    assert whole == {
        **{("usual", protocol): "gzip" for protocol in ("http1", "h2")},
        ("TLS 1.2", "h2"): "gzip",
        **{("HTTP/3", protocol): "gzip" for protocol in ("h2", "h3")},
    }
    assert set(inside(partial(codings, "protocol=h2")).values()) == {"gzip"}


def _looked_up(name: str) -> str | None:
    """By a program that starts now; None when nobody answers."""
    return run(Command.of("getent", "hosts", name), ok_codes=(0, 2)).split(" ")[0] or None


def test_a_run_records_which_factor_was_changed_and_to_what(coldload: Coldload) -> None:
    small_site(coldload.folder / "archives")
    (coldload.folder / "tiny.toml").write_text(STUDY)
    code, out, error = coldload.run("run", "tiny.toml", "--out", "run")
    assert ended_well(code, error), (out, error)
    folder = coldload.folder / "run"
    found = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    assert {each["outcome"] for each in found} == {"ok"}
    windows = {
        (each["condition"]["factor"], each["h2_stream_window_bytes"])
        for each in found
        if each["condition"]["protocol"] == "h2"
    }
    assert ("small windows", 65_535) in windows
    assert len({window for _, window in windows}) == 2
    told = json.loads((folder / "environment.json").read_text())["factors"]
    assert told["initial window 3"]["tcp"]["initial_window"] == 3
    (chain,) = told["chain of 3"]["servers"]["chromium"]["settings"].values()
    assert chain["certificate_chain"] == 3
    (usual,) = told["lossy"]["servers"]["chromium"]["settings"].values()
    assert usual["certificate_bytes"] < chain["certificate_bytes"]


def test_a_crowd_meets_the_settings_of_its_factor(coldload: Coldload) -> None:
    """A round trip more by TLS 1.2, and by a window of one packet for a page that is longer."""
    small_site(coldload.folder / "archives", extra=f"<!-- {'x' * 8000} -->")
    (coldload.folder / "crowd.toml").write_text(CROWD)
    code, out, error = coldload.run("run", "crowd.toml", "--out", "run")
    assert ended_well(code, error), (out, error)
    folder = coldload.folder / "run"
    made = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    found = {each["condition"]["factor"]: each for each in made}
    assert {each["outcome"] for each in made} == {"ok"}
    slower = {name: each["page_ms"] - found["usual"]["page_ms"] for name, each in found.items()}
    assert slower["TLS 1.2"] > 75
    assert slower["window of 1"] > 75
    assert abs(slower["short queue"]) < 50
    users = {name: each["condition"]["workload"]["steps"] for name, each in found.items()}
    assert users.pop("more users") == [3]
    assert [*users.values()] == [[2]] * 4
    told = json.loads((folder / "environment.json").read_text())["factors"]
    queues = {
        name: settings["ListenBacklog"]
        for name, each in told.items()
        for settings in each["servers"]["k6"]["settings"].values()
    }
    assert queues == {**dict.fromkeys(told, 4096), "short queue": 4}
    assert (
        len(list((folder / "recipes").iterdir())) == 1
    )  # what a page asks for is the same with every factor
