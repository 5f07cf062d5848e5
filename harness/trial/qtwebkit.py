"""The browsers of the historical engine: QtWebKit, one process per trial."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from harness.browser.qtwebkit.home import SPDY, QtWebKitHome, version
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import Testbed, client_network_path
from harness.model.condition import Condition
from harness.model.protocol import Protocol
from harness.trial.innertls import inner_tls


class QtWebKitMaker:
    """Makes QtWebKits, which have nothing in common that would be kept."""

    def __init__(self, folder: Path, _stack: contextlib.ExitStack) -> None:
        self._folder = folder

    @staticmethod
    def programs() -> Mapping[str, Callable[[], str]]:
        return {"qtwebkit": version}

    @staticmethod
    def refuse_unless_usable() -> None:
        version()

    def prepare(self, condition: Condition) -> None:
        """Nothing is shared."""

    @contextlib.contextmanager
    def fresh(
        self, name: str, _condition: Condition, testbed: Testbed, endpoint: Endpoint, *, bodies: bool
    ) -> Iterator[QtWebKitHome]:
        folder = self._folder / f"home-{name}"
        folder.mkdir()
        protocol = endpoint.protocol
        try:
            yield QtWebKitHome(
                folder,
                client_network_path(),
                testbed.authority.certificate_file,
                pipelining=protocol.pipelined,
                spdy=protocol.wire == SPDY,
                security=inner_tls(testbed, endpoint) if protocol is Protocol.SPDY_PLAIN else None,
                tls=endpoint.replay.tls,
                scheme=protocol.scheme,
                local=endpoint.local,
                elsewhere=endpoint.address,
                substitute=testbed.authority.substitute(endpoint.replay.chain).certificate_file,
                loopback_ports=endpoint.loopback_ports,
                log_bodies=bodies,
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
