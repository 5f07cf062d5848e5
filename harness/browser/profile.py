"""A fresh home for one browser: empty profile with the first preferences, NSS database that trusts the CA."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.browser.policy import FIRST_PREFERENCES, Launch


@dataclass(frozen=True)
class Home:
    """The folder one Chromium process lives in; thrown away with the trial."""

    folder: Path

    @property
    def profile(self) -> Path:
        return self.folder / "profile"

    @property
    def netlog(self) -> Path:
        return self.folder / "netlog.json"

    @property
    def pid_file(self) -> Path:
        return self.folder / "pid"

    @property
    def pid(self) -> int | None:
        """The browser's main process, once it has started."""
        try:
            return int(self.pid_file.read_text())
        except (OSError, ValueError):
            return None

    def launch(self, page_hosts: tuple[str, ...]) -> Launch:
        return Launch(self.profile, self.netlog, page_hosts)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def fresh_home(folder: Path, trust: Path) -> Home:
    """Make the home; `trust` is a folder with an NSS database (cert9.db, key4.db, pkcs11.txt)."""
    home = Home(folder)
    (home.profile / "Default").mkdir(parents=True)
    (home.profile / "Default" / "Preferences").write_text(json.dumps(FIRST_PREFERENCES))
    shutil.copytree(trust, folder / ".pki" / "nssdb")
    return home
