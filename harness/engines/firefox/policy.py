"""How Firefox is launched: the preferences of its fresh profile, as data. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from harness.model.protocol import Protocol

Preference = bool | int | str

WINDOW = (1280, 742)  # leaves 1280 x 656 for the page

# Nothing that the browser does for itself resolves a name or crosses the link.
QUIET: Mapping[str, Preference] = {
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "app.update.checkInstallTime": False,
    "app.update.disabledForTesting": True,
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.chrome.favicons": False,
    "browser.chrome.site_icons": False,
    "browser.contentblocking.report.monitor.enabled": False,
    "browser.discovery.enabled": False,
    "browser.ipProtection.enabled": False,
    "browser.ml.enable": False,
    "browser.newtab.preload": False,
    "browser.newtabpage.activity-stream.asrouter.useRemoteL10n": False,
    "browser.newtabpage.activity-stream.feeds.section.topstories": False,
    "browser.newtabpage.activity-stream.feeds.system.topsites": False,
    "browser.newtabpage.activity-stream.feeds.topsites": False,
    "browser.newtabpage.enabled": False,
    "browser.pagethumbnails.capturing_disabled": True,
    "browser.ping-centre.telemetry": False,
    "browser.places.speculativeConnect.enabled": False,
    "browser.region.network.url": "",
    "browser.region.update.enabled": False,
    "browser.safebrowsing.blockedURIs.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.safebrowsing.provider.google.updateURL": "",
    "browser.safebrowsing.provider.google4.updateURL": "",
    "browser.safebrowsing.provider.google5.enabled": False,
    "browser.safebrowsing.provider.mozilla.updateURL": "",
    "browser.safebrowsing.update.enabled": False,
    "browser.search.geoip.url": "",
    "browser.search.suggest.enabled": False,
    "browser.search.update": False,
    "browser.sessionstore.interval": 3_600_000,
    "browser.sessionstore.resume_from_crash": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.couldRestoreSession.count": -1,
    "browser.startup.homepage": "about:blank",
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.startup.page": 0,
    "browser.tabs.warnOnClose": False,
    "browser.topsites.contile.enabled": False,
    "browser.translations.enable": False,
    "browser.uitour.enabled": False,
    "browser.urlbar.merino.endpointURL": "",
    "browser.urlbar.quicksuggest.enabled": False,
    "browser.urlbar.speculativeConnect.enabled": False,
    "browser.urlbar.suggest.searches": False,
    "captivedetect.canonicalURL": "",
    "datareporting.healthreport.service.enabled": False,
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.policy.dataSubmissionPolicyBypassNotification": True,
    "datareporting.usage.uploadEnabled": False,
    "doh-rollout.disable-heuristics": True,
    "doh-rollout.enabled": False,
    "dom.push.connection.enabled": False,
    "dom.push.enabled": False,
    "dom.push.serverURL": "",
    "extensions.blocklist.enabled": False,
    "extensions.formautofill.creditCards.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.installDistroAddons": False,
    "extensions.pocket.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "extensions.systemAddon.update.url": "",
    "extensions.update.enabled": False,
    "extensions.webcompat-reporter.enabled": False,
    "geo.enabled": False,
    "geo.provider.network.url": "",
    "geo.wifi.scan": False,
    "identity.fxaccounts.auth.uri": "",
    "identity.fxaccounts.enabled": False,
    "media.gmp-gmpopenh264.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "media.gmp-manager.url": "",
    "media.gmp-provider.enabled": False,
    "media.gmp-widevinecdm.enabled": False,
    "messaging-system.rsexperimentloader.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.disablePrefetch": True,
    "network.dns.disablePrefetchFromHTTPS": True,
    "network.http.speculative-parallel-limit": 0,
    "network.manage-offline-status": False,
    "network.notify.checkForProxies": False,
    "network.predictor.enable-prefetch": False,
    "network.predictor.enabled": False,
    "network.prefetch-next": False,
    "network.proxy.type": 0,
    "network.sntp.pools": "",
    "network.trr.mode": 5,
    "nimbus.telemetry.targetingContextEnabled": False,
    "security.OCSP.enabled": 0,
    "security.certerrors.mitm.priming.enabled": False,
    "security.enterprise_roots.enabled": False,
    "security.pki.crlite_mode": 0,
    "security.remote_settings.crlite_filters.enabled": False,
    "security.remote_settings.intermediates.enabled": False,
    "services.settings.loglevel": "off",
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "services.sync.enabled": False,
    "signon.autofillForms": False,
    "signon.management.page.breach-alerts.enabled": False,
    "signon.rememberSignons": False,
    "startup.homepage_welcome_url": "about:blank",
    "startup.homepage_welcome_url.additional": "",
    "telemetry.fog.test.localhost_port": -1,
    "toolkit.telemetry.archive.enabled": False,
    "toolkit.telemetry.enabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "toolkit.telemetry.server": "",
    "toolkit.telemetry.shutdownPingSender.enabled": False,
    "toolkit.telemetry.unified": False,
}
# The page is loaded as it is: nothing is upgraded, blocked, or asked of a person.
AS_IT_IS: Mapping[str, Preference] = {
    "dom.disable_beforeunload": True,
    "dom.disable_open_during_load": True,  # as usual; `remote.prefs.recommended` would let scripts open windows
    "dom.security.https_first": False,
    "dom.security.https_first_schemeless": False,
    "dom.security.https_only_mode": False,
    "network.auth.subresource-http-auth-allow": 0,
    "network.proxy.allow_hijacking_localhost": True,  # hosts of the archive may have that name, too
    "network.proxy.failover_direct": False,
    "network.stricttransportsecurity.preloadlist": False,
    "privacy.popups.showBrowserMessage": False,  # a bar that takes of the height of the page
    "privacy.query_stripping.enabled": False,
    "privacy.trackingprotection.annotate_channels": False,
    "privacy.trackingprotection.enabled": False,
    "privacy.trackingprotection.pbmode.enabled": False,
    "security.mixed_content.block_active_content": False,
    "security.mixed_content.block_display_content": False,
    "security.mixed_content.upgrade_display_content": False,
}
# Cold and comparable: no session of TLS, no early data, IPv4 alone, no connection shared by hosts.
COLD: Mapping[str, Preference] = {
    "browser.cache.disk.enable": False,
    "network.dns.disableIPv6": True,
    "network.dns.native_https_query": False,
    "network.dns.upgrade_with_https_rr": False,
    "network.dns.use_https_rr_as_altsvc": False,
    "network.http.altsvc.enabled": False,
    "network.http.http2.coalesce-hostnames": False,
    "network.http.http3.enable_0rtt": False,
    "network.http.rcwn.enabled": False,
    "security.ssl.disable_session_identifiers": True,
    "security.tls.enable_0rtt_data": False,
}
# No add-on, of those built in either: they run a process of their own, and change pages that they know.
WITHOUT_ADDONS: Mapping[str, Preference] = {"extensions.enabledScopes": 0}
STEERED: Mapping[str, Preference] = {
    "browser.tabs.remote.separatePrivilegedContentProcess": False,
    "layers.acceleration.disabled": True,
    "marionette.port": 0,  # any that is free; the profile tells which
    "remote.active-protocols": 2,  # Marionette alone
    "remote.prefs.recommended": True,
}
USUAL: Mapping[str, Preference] = {**QUIET, **AS_IT_IS, **COLD, **WITHOUT_ADDONS, **STEERED}


def preferences(
    protocol: Protocol, hosts: Iterable[str], secure_origins: Iterable[str] = ()
) -> dict[str, Preference]:
    """Those of a browser that loads a page of these hosts by a protocol."""
    settings = dict(USUAL) | {
        "network.http.http2.enabled": protocol is Protocol.H2,
        "network.http.http3.enable": protocol.over_quic,
        "network.http.keep-alive": protocol.keep_alive,
    }
    secure = sorted({urlsplit(origin).hostname or "" for origin in secure_origins})
    if secure:
        settings["dom.securecontext.allowlist"] = ",".join(secure)
    return settings | (_quic_at_once(hosts) if protocol.over_quic else {})


def _quic_at_once(hosts: Iterable[str]) -> dict[str, Preference]:
    """HTTP/3 from the first request on, without Alt-Svc, with a private authority, and with no TCP raced against it."""
    return {
        "network.dns.httpssvc.http3_fast_fallback_timeout": 0,
        "network.http.altsvc.enabled": True,
        "network.http.http3.alt-svc-mapping-for-testing": ",".join(
            f"{host};h3=:443" for host in sorted(hosts)
        ),
        "network.http.http3.backup_timer_delay": 0,
        "network.http.http3.disable_when_third_party_roots_found": False,
        "network.http.http3.force-use-alt-svc-mapping-for-testing": True,
        "network.http.http3.parallel_fallback_conn_limit": 0,
    }


def as_file(found: Mapping[str, Preference]) -> str:
    """The text of a profile's user.js."""
    return "".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in found.items())
