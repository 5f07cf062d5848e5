"""What Chromium is started with."""

from __future__ import annotations

from pathlib import Path

from harness.browser.policy import RELAY_HTTPS, SERVICE_NAMES, Launch


def launch(**others: object) -> tuple[str, ...]:
    return Launch(Path("profile"), Path("netlog"), ("site.example",), **others).flags  # type: ignore[arg-type]  # any of its fields


def test_local_hosts_have_the_servers_address_and_the_browsers_own_names_none() -> None:
    (rules,) = [flag for flag in launch(local={"localhost": "10.0.0.1"}) if "resolver" in flag]
    assert rules.startswith("--host-resolver-rules=")
    assert rules.endswith(",MAP localhost 10.0.0.1")
    assert all(f"MAP {name} ~NOTFOUND" in rules for name in SERVICE_NAMES)


def test_the_hop_is_for_https_alone_and_only_where_asked_for() -> None:
    assert set(RELAY_HTTPS) <= set(launch(relayed=True))
    assert not any("proxy" in flag for flag in launch())
    assert "--proxy-server=https=socks5://127.0.0.1:1080" in RELAY_HTTPS


def test_the_window_of_streams_is_chromiums_own_unless_asked_for() -> None:
    assert not any("fieldtrial" in flag and "force" in flag for flag in launch())
    assert "--force-fieldtrial-params=HTTP2.Windows:http2_settings/4%3A65535" in launch(
        stream_window_bytes=65_535
    )
