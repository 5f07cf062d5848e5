"""Pages that reach for what is not theirs: the machine, its neighbours, the browser, other protocols, odd paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.hostile.site import ANY, LOADED, LOST, START, Page, html, made_of, text, weight
from harness.engines.chromium.policy import SERVICE_NAMES
from harness.errors import Outcome
from harness.model.engine import Engine, speaking
from harness.model.protocol import Protocol
from sites.response import Response

# Nobody serves these: a load that asks for them may count or be lost, but it is no fault of the testbed.
ADDRESSES = {
    "loopback": "http://127.0.0.1/x.png",
    "chromedriver": "http://127.0.0.1:9515/status",
    "hop": "http://127.0.0.1:1080/",
    "localhost": "http://localhost/x.png",
    "ipv6-loopback": "http://[::1]/x.png",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "neighbour": "http://10.0.0.1/x.png",
    "server-host": "http://10.0.255.254/x.png",
    "name-server": "http://10.0.0.1:53/x.png",
    "caddy-admin": "http://10.0.0.1:2019/config/",
    "private": "http://192.168.0.1/x.png",
    "file": "file:///etc/passwd",
    "chrome": "chrome://version/",
    "ftp": "ftp://ftp.example/x.png",
    "mdns": "http://printer.local/x.png",
    "onion": "http://abcdefghij.onion/x.png",
    "single-label": "http://intranet/x.png",
    "service-name": "http://accounts.google.com/x.png",
}

SCRIPTS = {
    "websocket": "new WebSocket('ws://site.example/s'); new WebSocket('wss://else.example/s');",
    "webrtc": """const c = new RTCPeerConnection({ iceServers: [{ urls: "stun:stun.example:3478" }] });
      c.createDataChannel("x"); c.createOffer().then((offer) => c.setLocalDescription(offer));""",
    "webtransport": "new WebTransport('https://site.example:4433/x');",
    "event-source": "new EventSource('/events');",
    "service-worker": "navigator.serviceWorker && navigator.serviceWorker.register('/worker.js');",
    "broadcast": "new BroadcastChannel('x').postMessage('x'.repeat(1e6));",
    "wasm": "WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));",
    "beacons": """navigator.sendBeacon("/beacon"); fetch("/kept", { keepalive: true });
      try { fetchLater("/later", { activateAfter: 0 }) } catch (error) {}""",
    "downloads": """for (const to of ["/worker.js", URL.createObjectURL(new Blob(["x"]))]) {
      const link = document.createElement("a"); link.href = to; link.download = "../x"; link.click(); }""",
    "databases": """if (window.openDatabase) openDatabase("x", "1", "x", 1e5).transaction(function (t) {
        t.executeSql("CREATE TABLE t (x)") });
      if (window.indexedDB) indexedDB.open("x"); localStorage.x = 1;""",
    "debugging-port": """for (let port = 9000; port < 9600; port += 3)
      fetch('http://127.0.0.1:' + port + '/json').catch(() => 0);""",
}

# What browsers offer to pages that came under https alone.
SECURE_SCRIPTS = {
    "payment": """new PaymentRequest(
      ["https://site.example/pay", "https://pay.example/"].map((url) => ({ supportedMethods: url })),
      { total: { label: "x", amount: { currency: "EUR", value: "1" } } }).canMakePayment();""",
    "sign-in": """navigator.credentials.get({ identity: { providers: [
      { configURL: "https://accounts.google.com/gsi/fedcm.json", clientId: "1" }] } });""",
    "passkey": """navigator.credentials.get({ mediation: "conditional", publicKey:
      { challenge: new Uint8Array(16), rpId: "other.example" } }).catch(() => 0);""",
}

HEADS = {
    "dns-prefetch": "".join(f'<link rel="dns-prefetch" href="//n{number}.example">' for number in range(50)),
    "preconnect": "".join(f'<link rel="preconnect" href="http://n{number}.example">' for number in range(20)),
    "speculation": """<script type="speculationrules">
      {"prerender": [{"urls": ["/next"]}], "prefetch": [{"urls": ["/other"]}]}</script>""",
    "prefetch": '<link rel="prefetch" href="/next"><link rel="prerender" href="/next">',
    "manifest": '<link rel="manifest" href="/manifest.json"><link rel="search" href="/opensearch.xml">',
    "base": '<base href="http://else.example/">',
    "rules": """<script type="speculationrules">{"prefetch": [{"urls": ["/next", "http://else.example/"],
      "eagerness": "immediate"}]}</script><link rel="compression-dictionary" href="/next">""",
    "icons": "".join(
        f'<link rel="{rel}" href="/{number}.png">'
        for number, rel in enumerate(
            ("icon", "shortcut icon", "apple-touch-icon", "mask-icon", "alternate icon")
        )
    ),
    "upgrade": '<meta http-equiv="Content-Security-Policy" content="upgrade-insecure-requests">',
}


def secured(page: Page) -> Page:
    """The same page recorded under https."""
    responses = (
        replace(response, url=response.url.replace("http://", "https://", 1)) for response in page.responses
    )
    return replace(page, responses=tuple(responses), start=START.replace("http://", "https://", 1))


def services() -> Page:
    """A page that needs every host that Chromium asks by itself."""
    scripts = [text(f"http://{name}/s.js", "", "text/javascript") for name in SERVICE_NAMES]
    body = "".join(f'<script src="{script.url}"></script>' for script in scripts)
    return made_of("services", body=body, others=scripts, may=LOADED, weighs=True)


def pages() -> list[Page]:
    sink = text(
        START + "worker.js",
        "onfetch = (e) => e.respondWith(new Response('x')); oninstall = () => skipWaiting();",
        "text/javascript",
    )
    following = text(START + "next", "<!doctype html><p>next")
    # Chromium asks when it likes: what it asks for once the load is over concerns nobody.
    own_service = made_of("own-service", may=frozenset({Outcome.TESTBED_FAILED, Outcome.OK}))
    return [
        services(),
        replace(own_service, flag=f"--gaia-url={START}", engines=frozenset({Engine.CHROMIUM})),
        *(
            made_of(f"reach-{name}", body=f'<img src="{url}"><iframe src="{url}"></iframe>', may=ANY | LOST)
            for name, url in ADDRESSES.items()
        ),
        *(
            made_of(f"use-{name}", f"<script>{script}</script>", others=[sink], may=ANY | LOST)
            for name, script in SCRIPTS.items()
        ),
        *(
            secured(made_of(f"use-{name}", f"<script>{script}</script>", may=LOADED))
            for name, script in SECURE_SCRIPTS.items()
        ),
        *(
            made_of(
                f"head-{name}",
                head,
                others=[following],
                may=LOADED if name in ("dns-prefetch", "preconnect", "prefetch") else ANY | LOST,
            )
            for name, head in HEADS.items()
        ),
        sockets(),
        *odd_paths(),
    ]


def sockets() -> Page:
    """A page by HTTP/2 that opens WebSockets, which everybody refuses, and asks for a picture behind each."""
    script = """for (let i = 0; i < 8; i++) { const socket = new WebSocket(`wss://site.example/s${i}`);
      socket.onerror = () => { document.body.append(Object.assign(new Image(), { src: `/${i}.svg` })) } }"""
    small = [text(f"{START}{number}.svg", SMALL, "image/svg+xml") for number in range(8)]
    page = secured(
        made_of("use-sockets", body=f"<script>{script}</script>", others=small, may=LOADED, weighs=True)
    )
    return replace(page, protocol=Protocol.H2, engines=frozenset(speaking(Protocol.H2)))


# Objects with odd paths, by every server and protocol: what each answers is the same.
SMALL = b"<svg xmlns='http://www.w3.org/2000/svg' width='4' height='4'/>"
ANSWERED = (
    "/100%25.svg", "//a///b.svg", "/a%2eb.svg", "/a;v=1.svg", "/%ff.svg", "/\u00e9.svg", f"/{'l' * 5000}.svg",
    "/a%2Fb.svg", "/a%5cb.svg", "/a/..%2fb.svg", "/a|b^c.svg", "/a?x=%zz|", "/a%0ab.svg", "/a%0d%0aX:%20y.svg", "/.svg",
    "/a./b.svg", "/x%3Fy.svg", "/x%23y.svg", "/...svg", "/.../a.svg", "/.well-known/a.svg", "/.htaccess",
    "/%E2%80%AE.svg", "/con.svg", "/a%7Fb.svg", "/a~1.svg", "/{uri}.svg", "/{$HOME}.svg", "/$uri.svg", "/${host}.svg",
    "/%25%7BHTTP_HOST%7D.svg", "/a'b.svg", "/a%22b.svg", "/a%3Cb%3E.svg", "/a%20b.svg", "/a+b.svg", "/*.svg",
    "/[a].svg", "/index.html", "/a.svg/", "/a.svg/b.svg", "/a.svg?", "/a.svg??a=b?c", "/a.svg?a=/../b", "/a.svg;",
    "/A.svg", "/a.SVG",
)  # fmt: skip
# No server takes them, or each takes them for something else: they are ordinary misses by all.
MISSED = ("/save-50%-now.css", "/%zz.svg", "/%.svg", "/a%00b.svg", "/..%2f..%2fx.svg", "/%2e%2e%2fq.svg")
# The same as QtWebKit spells them: it escapes some anew, and sends one slash for several, which nobody recorded.
MISSED_BY_QTWEBKIT = (
    "/save-50%25-now.css", "/%25zz.svg", "/%25.svg", "/a%00b.svg", "/..%2F..%2Fx.svg", "/..%2Fq.svg", "/a///b.svg",
    "/a?x=%25zz%7C",
)  # fmt: skip

OF_2012 = frozenset({Engine.QTWEBKIT})
SERVERS = {
    "caddy": (Protocol.HTTP1, Protocol.H2, Protocol.H3),
    "nginx": (Protocol.HTTP1, Protocol.H2),
    "apache": (Protocol.HTTP1, Protocol.H2),
    "spdy-gateway": (Protocol.HTTP1, Protocol.SPDY_PLAIN),
}


def odd_responses() -> Iterable[Response]:
    """The page and all its objects."""
    paths = (*ANSWERED, *MISSED)
    body = "".join(f'<img src="{START[:-1]}{path.replace("&", "&amp;")}">' for path in paths)
    head = '<meta charset=utf-8><link rel=icon href="data:,">'
    yield text(START, html(head, body), "text/html; charset=utf-8")
    yield weight()
    for path in paths:
        yield text(START[:-1] + path, SMALL, "image/svg+xml")


def odd_paths() -> list[Page]:
    made = tuple(odd_responses())
    return [
        Page(
            f"odd-paths-{server}-{protocol}",
            made,
            LOADED,
            weighs=True,
            objects=len(made) - len(MISSED_BY_QTWEBKIT),
            engines=OF_2012 if server == "spdy-gateway" else frozenset(speaking(protocol)) - OF_2012,
            server=server,
            protocol=protocol,
            missed=frozenset(MISSED_BY_QTWEBKIT if server == "spdy-gateway" else MISSED),
        )
        for server, protocols in SERVERS.items()
        for protocol in protocols
    ]
