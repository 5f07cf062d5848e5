"""What Chromium is started with."""

from __future__ import annotations

from pathlib import Path

from harness.engines.chromium.policy import NOWHERE, RELAY_HTTPS, SERVICE_NAMES, SERVICES, Launch


def launch(**others: object) -> tuple[str, ...]:
    fields = {"profile": Path("profile"), "netlog": Path("netlog"), "page_hosts": ("site.example",)} | others
    return Launch(**fields).flags  # type: ignore[arg-type]  # any of its fields


def test_local_hosts_have_the_servers_address_and_the_browsers_own_names_none() -> None:
    (rules,) = [flag for flag in launch(local={"localhost": "10.0.0.1"}) if "resolver" in flag]
    assert rules.startswith("--host-resolver-rules=")
    assert rules.endswith(",MAP localhost 10.0.0.1")
    assert all(f"MAP {name} ~NOTFOUND" in rules for name in SERVICE_NAMES)


def test_the_hop_is_for_https_alone_and_only_where_asked_for() -> None:
    assert set(RELAY_HTTPS) <= set(launch(relayed=True))
    assert not any("proxy" in flag for flag in launch())
    assert "--proxy-server=https=socks5://127.0.0.1:1080" in RELAY_HTTPS


def test_what_the_browser_asks_for_by_itself_goes_nowhere_and_not_to_the_hop_either() -> None:
    assert {f"--{service}={NOWHERE}/" for service in SERVICES} <= set(launch())
    (direct,) = [flag for flag in launch(relayed=True) if "bypass" in flag]
    assert direct == ";".join(("--proxy-bypass-list=<-loopback>", *SERVICE_NAMES))


def test_a_name_that_the_page_needs_has_its_address_and_its_way() -> None:
    needed = launch(relayed=True, page_hosts=("accounts.google.com",))
    assert not any("accounts.google.com" in flag for flag in needed)


def test_the_window_of_streams_is_chromiums_own_unless_asked_for() -> None:
    assert not any("fieldtrial" in flag and "force" in flag for flag in launch())
    assert "--force-fieldtrial-params=HTTP2.Windows:http2_settings/4%3A65535" in launch(
        stream_window_bytes=65_535
    )


def test_rules_for_the_resolver_name_whole_hosts() -> None:
    """Chromium holds a pattern against "name:port", too: one with a wildcard would be more than it seems."""
    (rules,) = [flag for flag in launch(local={"192.0.2.7": "10.0.0.2"}) if "resolver" in flag]
    assert "MAP 192.0.2.7 10.0.0.2" in rules
    assert "*" not in rules


def test_certificates_of_one_key_are_taken_for_any_name_where_the_testbed_has_such_a_key() -> None:
    assert "--ignore-certificate-errors-spki-list=pin" in launch(taken_key="pin")
    assert not any("certificate" in flag for flag in launch())
