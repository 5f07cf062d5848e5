"""A fresh home for one browser: empty profile with the first preferences, NSS database that trusts the CA."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.browser.policy import Launch, preferences
from harness.model.device import DESKTOP, Device


@dataclass(frozen=True)
class ChromiumHome:
    """The folder one Chromium process lives in; thrown away with the trial."""

    folder: Path
    page_hosts: tuple[str, ...] | None = ()
    secure_origins: tuple[str, ...] = ()
    device: Device = DESKTOP
    quic: bool = False
    relayed: bool = False
    local: Mapping[str, str] = field(default_factory=dict)
    stream_window_bytes: int | None = None
    log_bodies: bool = False

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

    def make(self, trust: Path | None) -> None:
        """Fill it; `trust` is a folder with an NSS database (cert9.db, key4.db, pkcs11.txt), if there is one."""
        (self.profile / "Default").mkdir(parents=True)
        (self.profile / "Default" / "Preferences").write_text(json.dumps(preferences(self.page_hosts or ())))
        if trust is not None:
            shutil.copytree(trust, self.folder / ".pki" / "nssdb")

    def launch(self) -> Launch:
        return Launch(
            self.profile,
            self.netlog,
            self.page_hosts,
            self.secure_origins,
            self.device,
            log_bodies=self.log_bodies,
            quic=self.quic,
            relayed=self.relayed,
            local=self.local,
            stream_window_bytes=self.stream_window_bytes,
        )

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
