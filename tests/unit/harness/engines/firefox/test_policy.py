"""Firefox's preferences by protocol, and the file that they become."""

from __future__ import annotations

import pytest

from harness.engines.firefox.policy import as_file, preferences
from harness.model.engine import Engine
from harness.model.protocol import Protocol


@pytest.mark.parametrize("protocol", Engine.FIREFOX.traits.protocols)
def test_each_protocol_is_the_only_one_that_can_be_spoken(protocol: Protocol) -> None:
    found = preferences(protocol, ["b.example", "a.example"])
    assert found["network.http.http2.enabled"] == (protocol is Protocol.H2)
    assert found["network.http.http3.enable"] == (protocol is Protocol.H3)
    assert found["network.http.keep-alive"] == (protocol not in (Protocol.HTTP1_CLOSE, Protocol.HTTPS1_CLOSE))
    mapping = found.get("network.http.http3.alt-svc-mapping-for-testing")
    assert mapping == ("a.example;h3=:443,b.example;h3=:443" if protocol is Protocol.H3 else None)
    assert found["network.http.altsvc.enabled"] == (protocol is Protocol.H3)


def test_hosts_that_were_secure_are_treated_so() -> None:
    found = preferences(Protocol.HTTP1, [], ["http://b.example:8080", "http://a.example"])
    assert found["dom.securecontext.allowlist"] == "a.example,b.example"
    assert "dom.securecontext.allowlist" not in preferences(Protocol.H2, [])


def test_a_profile_has_a_line_a_preference() -> None:
    assert as_file({"a": True, "b": 3, "c": 'say "x"'}) == (
        'user_pref("a", true);\nuser_pref("b", 3);\nuser_pref("c", "say \\"x\\"");\n'
    )
