"""The built wheel works from another folder, without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.system.conftest import small_site

pytestmark = pytest.mark.side_by_side

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(CHECKOUT)], check=True)
    (made,) = folder.glob("coldload-*.whl")
    return made


def test_it_holds_what_it_should(wheel: Path) -> None:
    assert wheel.name.startswith("coldload-0.1.0-py3-none-linux_")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"harness", "sites", "analysis", "configs", "dnsredirect"}
    assert "harness/linkem/bin/linkem" in names
    assert "configs/studies/demo.toml" in names
    assert {
        f"configs/servers/{server}.template" for server in ("apache", "caddy", "gateway", "nginx")
    } <= set(names)
    scripts = {f"sites/servers/{name}.lua" for name in ("answers", "apache", "asked", "closest")}
    assert scripts <= set(names)
    gateway = {"gateway.js", "spdy.js", "package.json", "package-lock.json"}
    assert {f"sites/servers/gateway/{name}" for name in gateway} <= set(names)
    assert "analysis/report/report.html.j2" in names
    assert {"harness/browser/timeline.js", "sites/determinism.js"} <= set(names)
    assert not [name for name in names if "/target/" in name or name.startswith("dns/")]


def test_it_loads_a_page_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(pip, check=True)
    small_site(tmp_path / "archives")
    where = "import harness, sys; print(harness.__file__); from harness.cli.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", where, "load", "small", "--protocol", "h2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    module, line = done.stdout.splitlines()
    assert module.startswith(str(site))
    assert "11 by h2" in line
