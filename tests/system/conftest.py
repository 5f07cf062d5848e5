"""System tests run the real thing: namespaces, link, servers, browser, all inside an enclosure of their own."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PIL import Image
from xdist.scheduler.loadscope import LoadScopeScheduling  # type: ignore[import-untyped, unused-ignore]

from harness.cli.telling import BUSY_WARNING
from harness.lab.emulated import TUN_DEVICE, LinkDevice, usable_device
from harness.model.condition import RECORDED_COMPRESSION, Compression, Condition, Origins
from harness.model.engine import DESKTOP, Device, Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.trials import PlannedTrial
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.study.metrics import machine_reasons
from harness.study.rules import DEFAULT_SERVER
from harness.system.enclosure import WORKSPACE, enclosed
from harness.trial.trial import BrowserLab, run_trial
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About

Result = TypeVar("Result")
START_URL = "https://site.example/"
OTHER_HOST = "cdn.example"
NO_ICON = '<link rel="icon" href="data:,">'
MARK = "COLDLOAD_TEST_MARK"
PATIENCE_S = 600
PAUSE_S, PAUSE_STEPS = 0.3, 15
# Starts a program whose mounts nobody else sees; an ordinary user is root there.
OWN_MOUNTS = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)))
OWN_RIGHTS = (
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
)  # the same, with rights of its own namespaces alone
LONGEST = (  # the modules whose tests, or all of which on one worker, take over half a minute, the longest first
    *("test_roots", "test_qtwebkit", "test_firefox", "test_trial", "test_webkit", "test_har", "test_wheel"),
    *("test_waterfalls", "test_hostile", "test_vitals", "test_portraits", "test_other_engines", "test_pack"),
    *("test_broken_variants", "test_blame", "test_large_page", "test_run", "test_cluster", "test_variants"),
    *("test_pages_of_today", "test_lanes"),
)

MADE_ONCE = re.compile(r'@pytest\.fixture\(\s*scope="module"(?P<params>, params=)?')
CHROMIUMS = Engine.CHROMIUM.traits.drivers


def without(capability: str) -> tuple[str, ...]:
    """Starts a program that lacks a capability of root's."""
    return (*OWN_RIGHTS, "setpriv", "--bounding-set", f"-{capability}", "--inh-caps", f"-{capability}")


WITHOUT_TUN = pytest.mark.skipif(
    usable_device() is not LinkDevice.TUN, reason=f"{TUN_DEVICE} is not this user's"
)
LINK_DEVICES = [pytest.param(LinkDevice.TUN, marks=WITHOUT_TUN), LinkDevice.VETH]


def timed(why: str) -> pytest.MarkDecorator:
    """The mark of a test that times something: others on the machine may starve it, so it is made anew, and told of.

    `why` says what of it a starved machine changes.
    """
    return pytest.mark.flaky(reruns=2, reruns_delay=10, reason=why)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that is tried again (pytest-rerunfailures) looks at loads of its own, not at those that failed it."""
    if isinstance(item, pytest.Function) and getattr(item, "execution_count", 1) > 1:
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for definition in definitions:
                if definition.scope == "module":
                    definition.finish(item._request)  # type: ignore[arg-type]  # any request of its node


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Side by side, what takes longest begins first, so that no worker is left with it at the end."""
    begun_first = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: begun_first.get(item.path.stem, len(LONGEST)))


class ByWhatIsMadeOnce(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]  # pytest-xdist has no types of its own
    """Any worker takes any test, but those that share what is made once for them: they stay on one worker.

    That is what a module makes, for each of its parameters, which then come first in the name of a test.
    """

    def _split_scope(self, nodeid: str) -> str:
        path, _, name = nodeid.partition("::")
        made = MADE_ONCE.search(Path(path).read_text())
        if made is None:
            return nodeid
        parameter = re.split(r"[-\]]", name.partition("[")[2])[0] if made["params"] else ""
        return f"{path}[{parameter}]"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByWhatIsMadeOnce:
    """Side by side, which worker takes which test."""
    return ByWhatIsMadeOnce(config, log)


def inside(function: Callable[[], Result]) -> Result:
    """Call the function inside a fresh enclosure; its result, or its exception, comes back."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer"

        def command() -> int:
            try:
                outcome: tuple[bool, object] = (True, function())
            except Exception as error:
                outcome = (False, error)
            answer.write_bytes(pickle.dumps(outcome))
            return 0

        code = enclosed(command)
        assert answer.exists(), f"the enclosed function ended with exit code {code} and no answer"
        good, value = pickle.loads(answer.read_bytes())  # noqa: S301  # our own file
    if not good:
        raise value
    return value  # type: ignore[no-any-return]  # what the function returned


def picture(side: int = 64) -> bytes:
    """A real PNG, another one each time; of 12 kB, and four times that for twice the side."""
    file = io.BytesIO()
    Image.effect_noise((side, side), 60).convert("RGB").save(file, "PNG")
    return file.getvalue()


def html(url: str, body: str, head: str = "") -> Response:
    """A page of the small site."""
    text = f"<!doctype html><html><head><title>t</title>{head}</head><body>{body}</body></html>"
    return Response(url=url, status=200, headers=(("Content-Type", "text/html"),), body=text.encode())


def page_of(root: Path, name: str, body: str, *others: Response) -> Archive:
    return write_archive(root, name, About(START_URL, "t", "t", ()), [html(START_URL, body), *others])


# Opens each kind of dialog and a window, and asks for what came of that.
DIALOGS = """<script>alert("a"); onbeforeunload = () => 1;
document.write("<img src='/" + [confirm("b"), prompt("c"), !!open("/d")].map(String) + "'>")</script>"""
CANCELLED = f"{START_URL}false,null,false"  # what it asks for where nothing came of that


def small_site(root: Path, name: str = "small", extra: str = "", head: str = "") -> Archive:
    """Two hosts, a style sheet, eight pictures and one that is not archived, recorded over https.

    Some loads ask for its icon, too: browsers do about when a load ends. With `NO_ICON` as its head none does.
    """
    png = (("Content-Type", "image/png"),)
    pictures = [(START_URL, f"p{number}.png") for number in range(4)]
    pictures += [(f"https://{OTHER_HOST}/", f"q{number}.png") for number in range(4)]
    body = "".join(f'<img src="{base}{file}">' for base, file in pictures)
    body += f'<img src="https://{OTHER_HOST}/missing.png">{extra}'
    style = Response(
        url=f"https://{OTHER_HOST}/s.css",
        status=200,
        headers=(("Content-Type", "text/css"),),
        body=b"body{color:#333}",
    )
    page = html(START_URL, f'<link rel="stylesheet" href="https://{OTHER_HOST}/s.css">{body}', head)
    images = [Response(url=base + file, status=200, headers=png, body=picture()) for base, file in pictures]
    return write_archive(root, name, About(START_URL, "test", "test", ()), [page, style, *images])


def condition(
    page: str,
    protocol: Protocol,
    driver: Driver = Driver.PLAYWRIGHT,
    link: Link | None = None,
    *,
    origins: Origins = Origins.SINGLE,
    device: Device = DESKTOP,
    server: str = DEFAULT_SERVER,
    compression: Compression = RECORDED_COMPRESSION,
) -> Condition:
    """A condition with everything else at its default."""
    usual = Condition.usual(page, protocol, link or Link.of(50, 10), driver.engines[0])
    return replace(
        usual, driver=driver, origins=origins, server=server, device=device, compression=compression
    )


def planned(number: int, cell: Condition) -> PlannedTrial:
    """The trial with this number."""
    return PlannedTrial(f"{number:05d}", 1, number, cell)


def trial(
    opened: BrowserLab,
    number: int,
    cell: Condition,
    *,
    timeout_s: float = 120.0,
    keep: Sequence[str] = (),
    files: Path = WORKSPACE / "kept",
) -> Record:
    """One trial on an open lab; what it keeps goes into the folder `files`."""
    return run_trial(
        opened.testbed, opened.browsers, planned(number, cell), TrialOptions(timeout_s, tuple(keep)), files
    )


def without_warnings(err: str) -> str:
    """Standard error without what it says of a busy machine."""
    return "".join(line for line in err.splitlines(keepends=True) if not line.startswith(BUSY_WARNING))


def was_too_busy(code: int, said: str) -> bool:
    """Whether a run came to its end, and no trial of it counts, for what the machine did."""
    return code == 1 and "no trial of" in said and any(each in said for each in machine_reasons())


def ended_well(code: int, err: str) -> bool:
    """Whether a run came to its end: in silence, or with one line on a machine that was too busy for any trial to
    count.
    """
    return (was_too_busy(code, err) and err.count("\n") == 1) or (code, err) == (0, "")


def wait_until(happens: Callable[[], bool], what: str) -> None:
    """Wait for what comes soon, on however busy a machine; a test that waits in vain fails and lets the next run.

    To look takes a fifth of the time at most: what is waited for needs the core, too.
    """
    patience = time.monotonic() + PATIENCE_S
    while True:
        looked = time.thread_time()
        if happens():
            return
        assert time.monotonic() < patience, f"waited in vain for {what}"
        time.sleep(max(0.005, 4 * (time.thread_time() - looked)))


def command_line(pid: int) -> str:
    """That of a running process; of one that is gone, nothing."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def pause(pid: int, seconds: float = PAUSE_S) -> None:
    """Stop a process for a while.

    In steps, of which a standstill of this process takes one alone: else the end could come before anybody looked.
    """
    os.kill(pid, signal.SIGSTOP)
    for _ in range(PAUSE_STEPS):
        time.sleep(seconds / PAUSE_STEPS)
    os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def struck(opened: BrowserLab, cell: Condition, strike: Callable[[], None]) -> Iterator[None]:
    """Strike, from another thread, once the server has answered the first request of the page that the block loads."""
    server = opened.testbed.endpoint(cell).server
    before, over = server.log_offset, threading.Event()

    def strike_when_asked() -> None:
        wait_until(lambda: over.is_set() or server.log_offset > before, "the first request")
        assert server.log_offset > before, "the load was over before the server was asked"
        strike()

    with ThreadPoolExecutor(1) as thread:
        striking = thread.submit(strike_when_asked)
        try:
            yield
        finally:
            over.set()
        striking.result()


@dataclass
class Coldload:
    """The command line, run as a user runs it, in a folder of its own."""

    folder: Path
    mark: str

    def start(
        self, *words: str, prefix: tuple[str, ...] = (), stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Start a command; its standard output and error are pipes, unless the latter goes elsewhere."""
        return subprocess.Popen(
            [*prefix, sys.executable, "-P", "-m", "harness.cli", *words],
            cwd=self.folder,
            env={**os.environ, MARK: self.mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str, prefix: tuple[str, ...] = ()) -> tuple[int, str, str]:
        """Run a command to its end: exit code, standard output, standard error."""
        process = self.start(*words, prefix=prefix)
        out, err = process.communicate()
        return process.returncode, out, without_warnings(err)

    def processes(self) -> list[tuple[int, str]]:
        """What these commands started and still runs, with its command line."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes():
                    words = (folder / "cmdline").read_text().replace("\0", " ")
                    found.append((int(folder.name), words))
            except (OSError, UnicodeDecodeError):
                continue
        return found

    def left_behind(self) -> list[str]:
        """The command lines of processes that were started by these commands and still run."""
        return [words for _, words in self.processes()]


@pytest.fixture
def coldload(tmp_path: Path) -> Iterator[Coldload]:
    made = Coldload(tmp_path, uuid.uuid4().hex)
    yield made
    assert made.left_behind() == []
