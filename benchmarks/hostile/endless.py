"""Pages that never end, eat memory or processor, or take the browser down."""

from __future__ import annotations

from benchmarks.hostile.site import ANY, BROKEN, LOST, START, Page, made_of, scripted, text

# After the load event: the load time is known by then and true, or the page is at fault.
AFTER_LOAD = {
    "spin": "while (true) {}",
    "spin-later": "setTimeout(() => { while (true) {} }, 0);",
    "spin-in-frame": "requestAnimationFrame(() => { while (true) {} });",
    "spin-microtasks": "const again = () => Promise.resolve().then(again); again();",
    "alert": "alert('x');",
    "alerts": "for (;;) alert('x');",
    "confirm-prompt": "for (let i = 0; i < 1e5; i++) { confirm('x'); prompt('x'); }",
    "print": "print();",
    "reload": "location.reload();",
    "away-to-itself": 'location = "/?" + Math.random();',
    "away-to-nowhere": 'location = "http://nowhere.example/";',
    "blank": 'location = "about:blank";',
    "close": "window.close(); window.open('', '_self').close();",
    "popups": "for (let i = 0; i < 50; i++) window.open('/?' + i);",
    "stop": "window.stop();",
    "write": "document.open(); document.write('<p>other'); document.close();",
    "write-unclosed": "document.open(); document.write('<p>other');",
    "fetches": "setInterval(() => fetch('/never?' + Math.random()), 5);",
    "grow-dom": """setInterval(() => {
      for (let i = 0; i < 2000; i++) document.body.append(document.createElement('p')); }, 5);""",
    "beacon": "addEventListener('pagehide', () => navigator.sendBeacon('/b', 'x'.repeat(60000)));",
    "unload-spin": "for (const end of ['unload', 'pagehide']) addEventListener(end, () => { while (true) {} });",
    "before-unload": """addEventListener('beforeunload', (event) => {
      event.preventDefault(); event.returnValue = 'x'; return 'x'; });""",
    "console": "for (let i = 0; i < 1e6; i++) console.error('line ' + i);",
    "fullscreen-pointer": """document.body.requestFullscreen(); document.body.requestPointerLock();
      Notification.requestPermission();""",
    "debugger": "setInterval(() => { debugger; }, 1);",
    "download-click": """const a = document.createElement('a'); a.href = '/weight.png'; a.download = 'x';
      document.body.append(a); a.click();""",
    "frames": """setInterval(() => {
      const f = document.createElement('iframe'); f.srcdoc = '<p>x'; document.body.append(f); }, 1);""",
}

BEFORE_LOAD = {
    "spin-at-once": "while (true) {}",
    "alerts-at-once": "for (let i = 0; i < 2000; i++) alert('x');",
    "away-at-once": 'location = "/?" + Math.random();',
    "replace-at-once": 'location.replace("/landing");',
    "stop-at-once": "window.stop();",
    "deep": "const f = () => f() + 1; f();",
    "deep-nested": "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; JSON.stringify(a);",
    "memory": "window.kept = []; for (let i = 0; i < 40; i++) kept.push(new Uint8Array(5e7).fill(1));",
    "text-memory": "let s = 'x'; try { for (;;) s += s; } catch (error) {} window.kept = s.length;",
    "canvas": """const c = document.createElement('canvas'); c.width = c.height = 30000;
      c.getContext('2d').fillRect(0, 0, 9e4, 9e4);""",
    "crash": "new TextDecoder().decode(new Uint8Array(2 ** 31));",
    "crash-frame": """document.write('<iframe src="http://else.example/crash"></iframe>');""",
    "crash-worker": """new Worker(URL.createObjectURL(new Blob(
      ['new TextDecoder().decode(new Uint8Array(2 ** 31))'])));""",
    "workers": "for (let i = 0; i < 8; i++) new Worker(URL.createObjectURL(new Blob(['for (;;) {}'])));",
    "storage": """for (let i = 0; i < 300; i++) { document.cookie = i + '=' + 'x'.repeat(3000);
      try { localStorage[i] = 'x'.repeat(1e5); } catch (e) {} }""",
    "title": "document.title = 'x'.repeat(1e6);",
    "sync-xhr": """for (let i = 0; i < 20; i++) {
      const x = new XMLHttpRequest(); x.open('GET', '/sync?' + i, false); x.send(); }""",
    "push-flood": "for (let i = 0; i < 5000; i++) try { history.pushState(null, '', '/' + i); } catch (e) { break; }",
}
NEVER_LOADS = ("spin-at-once",)
# Servers refuse so long a request before they have all of it; WebKit, which still sends, then reads no answer.
TOO_LONG = ANY | LOST


def pages() -> list[Page]:
    """Scripts at the load event, scripts before it, and markup."""
    crash = text("http://else.example/crash", f"<script>{BEFORE_LOAD['crash']}</script>")
    landing = text(START + "landing", "<!doctype html><p>landed")
    made = [
        scripted(f"onload-{name}", f"addEventListener('load', () => {{ {script} }});")
        for name, script in AFTER_LOAD.items()
    ]
    made += [
        Page(page.name, (*page.responses, landing, crash), page.may)
        for name, script in BEFORE_LOAD.items()
        for page in [
            scripted(
                name,
                script,
                may=BROKEN if name in NEVER_LOADS else TOO_LONG if name == "storage" else ANY,
            )
        ]
    ]
    nested = "".join("<div>" for _ in range(5000))
    many = "".join(f'<img src="/missing-{number}.png">' for number in range(2000))
    return [
        *made,
        made_of("refresh-itself", '<meta http-equiv="refresh" content="0">'),
        made_of("refresh-nowhere", '<meta http-equiv="refresh" content="0;url=http://nowhere.example/">'),
        made_of("refresh-javascript", '<meta http-equiv="refresh" content="0;url=javascript:while(1){}">'),
        made_of("frame-of-itself", body='<iframe src="/"></iframe><iframe src="/?2"></iframe>'),
        made_of(
            "frames-elsewhere",
            body="".join(f'<iframe src="http://h{n}.example/"></iframe>' for n in range(20)),
        ),
        made_of(
            "busy-frames",
            body="".join(f'<iframe src="http://busy{n}.example/"></iframe>' for n in range(40)),
            others=[text(f"http://busy{n}.example/", "<script>for (;;) {}</script>") for n in range(40)],
        ),
        made_of("nested", body=nested),
        made_of("huge-style", f"<style>{'div p a b i{color:red}' * 200_000}</style>"),
        made_of(
            "selectors", f"<style>{','.join(':is(' * 20 + 'a' + ')' * 20 for _ in range(500))}{{x:y}}</style>"
        ),
        made_of("missing-images", body=many, may=ANY),
        made_of("data-url", body=f'<img src="data:image/png;base64,{"A" * 20_000_000}">'),
        made_of("long-url", body=f'<img src="/{"u" * 1_000_000}">', may=TOO_LONG),
        made_of("entities", body="&" + "lt" * 100_000 + ";" * 1000),
        made_of(
            "bad-bytes", body="\ud800".encode("utf-8", "surrogatepass").decode("latin-1") * 1000 + "\0" * 1000
        ),
    ]
