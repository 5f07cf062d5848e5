"""How Chromium is launched: the same flags and first preferences whatever drives it.

Both drivers' own default flags are dropped; what a driver adds all the same (chromedriver's two timer flags and
two feature flags) is part of the policy, so that the other driver has it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.engines.hop import LOOPBACK, PORT
from harness.model.engine import DESKTOP, Device

WINDOW = (1280, 800)

# The names Chromium asks for by itself. `--disable-background-networking` alone silences only part of them, so they
# get no address. A name that the page itself needs is taken off the list, see `service_names`: then only NOWHERE keeps
# the browser's own requests off the link.
SERVICE_NAMES = (
    "accounts.google.com",
    "android.clients.google.com",
    "chromium-i18n.appspot.com",
    "clients1.google.com",
    "clients2.google.com",
    "clients3.google.com",
    "clients4.google.com",
    "clients2.googleusercontent.com",
    "clientservices.googleapis.com",
    "content-autofill.googleapis.com",
    "edgedl.me.gvt1.com",
    "mtalk.google.com",
    "optimizationguide-pa.googleapis.com",
    "redirector.gvt1.com",
    "safebrowsing.googleapis.com",
    "sb-ssl.google.com",
    "start.duckduckgo.com",
    "update.googleapis.com",
    "www.google.com",
    "www.googleapis.com",
)

# Port 1 is one of those for which Chromium opens no socket (ERR_UNSAFE_PORT, net/base/port_util.cc).
NOWHERE = "http://127.0.0.1:1"

# Where Chromium's services are, by the switches that name them. Chromium asks the first two in every load.
SERVICES = (
    "gaia-url",  # is anybody signed in? (ListAccounts)
    "component-updater=url-source",  # is asked for components on demand, in spite of --disable-component-update
    "apps-gallery-update-url",
    "autofill-server-url",
    "gcm-checkin-url",
    "gcm-mcs-endpoint",
    "gcm-registration-url",
    "google-apis-url",
    "lso-url",
    "oauth-account-manager-url",
    "optimization-guide-service-get-hints-url",
    "optimization-guide-service-get-models-url",
    "sync-url",
    "translate-ranker-model-url",
    "translate-script-url",
    "variations-insecure-server-url",
    "variations-server-url",
)

DISABLED_FEATURES = (
    "HttpsUpgrades",  # would turn http:// into https:// by itself
    "HttpsFirstBalancedModeAutoEnable",
    "OptimizationHints",
    "MediaRouter",
    "Translate",
    "AutofillServerCommunication",
    "NetworkTimeServiceQuerying",
    "IgnoreDuplicateNavs",  # chromedriver's own two
    "Prewarm",
    "WebUIOmniboxPopup",  # the address bar's pages: a renderer that takes 0.7 to 1.3 s of processor while a page loads
    "WebUIOmniboxAimPopup",
)

# The browser's preload list (HSTS) turns http:// into https:// for many real names. The page's names are taken off it
# by a preference (`preferences`); with this feature it also leaves alone requests for other names within the page.
ENABLED_FEATURES = ("HstsTopLevelNavigationsOnly",)

HEADLESS = "--headless"
FLAGS = (
    HEADLESS,
    f"--window-size={WINDOW[0]},{WINDOW[1]}",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-sync",
    "--disable-search-engine-choice-screen",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-pings",
    "--password-store=basic",
    *(f"--{service}={NOWHERE}/" for service in SERVICES),
    f"--disable-features={','.join(DISABLED_FEATURES)}",
    f"--enable-features={','.join(ENABLED_FEATURES)}",
)

# QUIC to every host at once, without an Alt-Svc header or DNS record to be learned first. There is no way back to
# TCP: a host that does not answer over UDP fails. It also makes Chromium accept a private authority over QUIC.
FORCE_QUIC = "--origin-to-force-quic-on=*"

# Of a page loaded over plain http: what a script asks for under https goes to the hop (harness.engines.hop), on the
# client host, which ends TLS and passes it on over the link in plain http, as all the rest goes there. Without the
# second flag loopback hosts would be left out. A frame that came so may have what is under http, as all else is.
# The hop looks names up itself, so those of the browser's services do not go there: they have no address.
RELAY_HTTPS = (
    f"--proxy-server=https=socks5://{LOOPBACK}:{PORT}",
    "--allow-running-insecure-content",
)
NOT_RELAYED = "--proxy-bypass-list=<-loopback>"

# HTTP/2's SETTINGS_INITIAL_WINDOW_SIZE (4), by a field trial that Chromium knows
# (components/network_session_configurator). The window of the whole connection, 15 MB, cannot be set.
STREAM_WINDOW = (
    "--force-fieldtrials=HTTP2/Windows",
    "--force-fieldtrial-params=HTTP2.Windows:http2_settings/4%3A{}",
)

FIRST_PREFERENCES: dict[str, Any] = {
    "alternate_error_pages": {"enabled": False},  # asks www.gstatic.com when an answer over TLS is slow
    "browser": {"enable_spellchecking": False},
    "spellcheck": {"dictionaries": [], "use_spelling_service": False},
    "signin": {"allowed": False, "allowed_on_next_startup": False},
    "search": {"suggest_enabled": False},
    "safebrowsing": {"enabled": False},
    "autofill": {"enabled": False, "profile_enabled": False, "credit_card_enabled": False},
    "credentials_enable_service": False,
    "translate": {"enabled": False},
    "session": {
        "restore_on_startup": 4,
        "startup_urls": ["about:blank"],
    },  # Debian's start page is a live site
    "homepage": "about:blank",
    "profile": {"password_manager_enabled": False},
}

# What holds for all profiles. Chromium takes part in no scheme of authentication (the enterprise policy AuthSchemes):
# on a 401 it then asks nobody for a password, which would keep the load event back until somebody answers. The page
# gets the response with all its headers, as when a visitor cancels.
LOCAL_STATE: dict[str, Any] = {"auth": {"schemes": ""}}


def preferences(page_hosts: Iterable[str]) -> dict[str, Any]:
    """The first preferences, with the page's names taken off the browser's HSTS preload list.

    The list of exceptions is that of the enterprise policy HSTSPolicyBypassList. Chromium documents it for names
    of one label, but only its debug builds insist on that (net/http/transport_security_state.cc).
    """
    exceptions = {"policy": {"upgrade_bypass_list": sorted(page_hosts)}}
    return {**FIRST_PREFERENCES, "hsts": exceptions}


def service_names(page_hosts: Iterable[str]) -> tuple[str, ...]:
    """The service names to leave without an address while a page with these hosts is loaded."""
    needed = {name.lower() for name in page_hosts}
    return tuple(name for name in SERVICE_NAMES if name not in needed)


@dataclass(frozen=True)
class Launch:
    """One start of Chromium: where its profile and NetLog go, which hosts the page has, what it looks like.

    Without `page_hosts` they are not known, and every name resolves: a live page is recorded.
    `log_bodies` puts bodies into the NetLog, too.
    `secure_origins` are http:// origins to be treated as https:// ones are: a page recorded over https may use what
    browsers offer to secure contexts only (Web Crypto, for one), and must run the same code over plain http.
    `local`: where hosts are that a browser does not ask DNS for (`localhost`, IP addresses), each by its whole name: a
    pattern of such a rule is held against "name:port", too, so that `*:*` would be every name.
    `quic`: every https request goes by HTTP/3, the first one, too. `relayed`: every https request goes to the hop.
    `stream_window_bytes` is what an answer over HTTP/2 may be ahead of the browser's reading; None: Chromium's own.
    `cpu_slowdown` is how many times slower than it is the processor runs the page. `taken_key` (as in pinning, RFC
    7469) is that of certificates that are taken for any name: of the testbed's substitute for names it does not know.
    `display` is what shows its window to a person (`x11`, `wayland`); "" for none.
    """

    profile: Path
    netlog: Path
    page_hosts: tuple[str, ...] | None
    secure_origins: tuple[str, ...] = ()
    device: Device = DESKTOP
    log_bodies: bool = False
    quic: bool = False
    relayed: bool = False
    local: Mapping[str, str] = field(default_factory=dict)
    stream_window_bytes: int | None = None
    cpu_slowdown: int = 1
    taken_key: str | None = None
    display: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """Every flag, but those by which a driver names the profile and opens its channel."""
        silenced = () if self.page_hosts is None else service_names(self.page_hosts)
        addresses = dict.fromkeys(silenced, "~NOTFOUND") | dict(self.local)
        rules = ",".join(f"MAP {name} {address}" for name, address in addresses.items())
        secure = f"--unsafely-treat-insecure-origin-as-secure={','.join(self.secure_origins)}"
        return (
            *(
                flag if flag != HEADLESS or not self.display else f"--ozone-platform={self.display}"
                for flag in FLAGS
            ),
            *([f"--host-resolver-rules={rules}"] if rules else []),
            f"--log-net-log={self.netlog}",
            *(["--net-log-capture-mode=Everything"] if self.log_bodies else []),
            *([secure] if self.secure_origins else []),
            *([f"--ignore-certificate-errors-spki-list={self.taken_key}"] if self.taken_key else []),
            *device_flags(self.device),
            *([FORCE_QUIC] if self.quic else []),
            *((*RELAY_HTTPS, ";".join((NOT_RELAYED, *silenced))) if self.relayed else []),
            *(
                [template.format(self.stream_window_bytes) for template in STREAM_WINDOW]
                if self.stream_window_bytes
                else []
            ),
        )


TOUCH_POINTS = 5
# What the client hints say beside brands and version, which Chromium fills in. Chrome's reduced user agent
# (Android 10; K) tells neither model nor version.
CLIENT_HINTS = {
    "platform": "Android",
    "platformVersion": "10.0.0",
    "architecture": "",
    "model": "",
    "mobile": True,
}


def device_flags(device: Device) -> tuple[str, ...]:
    """Flags for the start of the browser."""
    mobile = ("--use-mobile-user-agent",) if device.screen else ()  # its client hints say "mobile"
    named = (f"--user-agent={device.user_agent}",) if device.user_agent else ()
    return (*mobile, *named)


def device_commands(device: Device) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Commands for the tab, each with its parameters."""
    screen = device.screen
    if screen is None:
        return ()
    metrics = {
        "width": screen.width,
        "height": screen.height,
        "screenWidth": screen.width,
        "screenHeight": screen.height,
        "deviceScaleFactor": screen.scale_factor,
        "mobile": True,
        "screenOrientation": {"type": "portraitPrimary", "angle": 0},
    }
    touch = {"enabled": True, "maxTouchPoints": TOUCH_POINTS}
    agent = {
        "userAgent": device.user_agent or "",
        "platform": "Linux armv81",
        "userAgentMetadata": CLIENT_HINTS,
    }
    return (
        ("Emulation.setDeviceMetricsOverride", metrics),
        ("Emulation.setScrollbarsHidden", {"hidden": True}),  # they take no room on a touch screen
        ("Emulation.setTouchEmulationEnabled", touch),
        ("Emulation.setUserAgentOverride", agent),
    )
