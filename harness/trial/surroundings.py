"""What the testbed puts around the browser of a trial."""

from __future__ import annotations

from harness.engines.hop import Security
from harness.engines.surroundings import InnerTls, Surroundings
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import CLIENT, Testbed


def surroundings(testbed: Testbed, endpoint: Endpoint) -> Surroundings:
    """Those of a browser on the client host that loads the page of an endpoint."""
    return Surroundings(
        client=CLIENT,
        protocol=endpoint.protocol,
        replay=endpoint.replay,
        hosts=endpoint.hosts,
        secure_origins=endpoint.secure_origins,
        local=endpoint.local,
        mentioned=endpoint.mentioned_addresses,
        loopback_ports=endpoint.loopback_ports,
        address=endpoint.address,
        trust=testbed.trust,
        authority=testbed.authority.certificate_file,
        substitute=testbed.authority.substitute(endpoint.replay.chain),
        inner_tls=None if endpoint.protocol.encrypted else _inner_tls(testbed, endpoint),
    )


def _inner_tls(testbed: Testbed, endpoint: Endpoint) -> InnerTls:
    """TLS with certificates of the usual kind, in the names of an endpoint."""
    certificates = {name: str(file) for name, file in testbed.loopback_certificates(endpoint).items()}
    substitute = testbed.authority.substitute()
    files = str(substitute.certificate_file), str(substitute.key_file)
    security = Security(certificates, str(testbed.authority.key_file), files, endpoint.protocol.wire)
    return InnerTls(security, substitute)
