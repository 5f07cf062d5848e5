"""TLS that ends within the client host, for what travels over the link without it."""

from __future__ import annotations

from harness.browser.hop import Security
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import Testbed


def inner_tls(testbed: Testbed, endpoint: Endpoint) -> Security:
    """What a hop needs to end the TLS of a browser, in the names of an endpoint."""
    certificates = {name: str(file) for name, file in testbed.loopback_certificates(endpoint).items()}
    substitute = testbed.authority.substitute()
    return Security(
        certificates,
        str(testbed.authority.key_file),
        (str(substitute.certificate_file), str(substitute.key_file)),
        endpoint.protocol.wire,
    )
