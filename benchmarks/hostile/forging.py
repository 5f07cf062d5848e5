"""Pages whose scripts tell lies about their times."""

from __future__ import annotations

from benchmarks.hostile.site import LOADED, Page, made_of, scripted

VALUES = {
    "1": "1",
    "negative": "-5",
    "1e300": "1e300",
    "infinity": "Infinity",
    "nan": "NaN",
    "true": "true",
    "text": '"x"',
    "object": "({})",
    "null": "null",
    "bigint": "Object(1)",
    "half": "performance.now() / 2",
}

ENTRIES = """
const fields = ["loadEventEnd", "responseStart", "domContentLoadedEventEnd", "fetchStart", "startTime"];
const told = () => { const V = %s; return [Object.fromEntries(fields.map((name) => [name, V]))]; };
Performance.prototype.getEntriesByType = Performance.prototype.getEntriesByName =
  Performance.prototype.getEntries = told;
performance.getEntriesByType = performance.getEntriesByName = performance.getEntries = told;
"""

TIMING = """
const V = %s, told = {};
for (const name in performance.timing) told[name] = V;
for (const name in performance.timing) {
  try { Object.defineProperty(PerformanceTiming.prototype, name, { get: () => V }); } catch (error) {}
}
try { Object.defineProperty(performance, "timing", { get: () => told }); } catch (error) {}
try { Object.defineProperty(Performance.prototype, "timing", { get: () => told }); } catch (error) {}
"""

# What a measurement could rest on, each replaced with something that lies, throws or never answers.
SCRIPTS = {
    "getters": """for (const kind of [PerformanceNavigationTiming, PerformanceResourceTiming, PerformanceEntry])
      for (const name of Object.keys(Object.getOwnPropertyDescriptors(kind.prototype)))
        try { Object.defineProperty(kind.prototype, name, { get: () => 1, configurable: true }); } catch (e) {}""",
    "getters-that-throw": """for (const name of Object.keys(Object.getOwnPropertyDescriptors(
      PerformanceNavigationTiming.prototype))) try { Object.defineProperty(PerformanceNavigationTiming.prototype, name,
      { get() { throw new Error("no"); } }); } catch (e) {}""",
    "clock": "performance.now = Performance.prototype.now = () => 1; Date.now = () => 1;",
    "time-origin": """Object.defineProperty(Performance.prototype, "timeOrigin", { get: () => 1 });""",
    "performance-undefined": 'Object.defineProperty(window, "performance", { get: () => undefined });',
    "performance-proxy": """const told = new Proxy({}, { get: () => () => [{ loadEventEnd: 1, startTime: 1 }] });
      Object.defineProperty(window, "performance", { get: () => told });""",
    "performance-throws": 'Object.defineProperty(window, "performance", { get() { throw new Error("no"); } });',
    "observer": """window.PerformanceObserver = class { constructor(f) { this.f = f; }
      observe() { this.f({ getEntries: () => [{ startTime: 1, value: 99, duration: 1e9 }] }); } disconnect() {}
      static get supportedEntryTypes() { return ["largest-contentful-paint", "layout-shift", "longtask"]; } };""",
    "observer-prototype": """PerformanceObserver.prototype.observe = function () {};
      PerformanceObserverEntryList.prototype.getEntries = () => [{ startTime: 1, value: 99, duration: 1e9 }];""",
    "observer-types": 'Object.defineProperty(PerformanceObserver, "supportedEntryTypes", { get: () => 7 });',
    "animation-frame": "window.requestAnimationFrame = () => 0; window.requestIdleCallback = () => 0;",
    "timers": "window.setTimeout = window.setInterval = () => 0; window.queueMicrotask = () => {};",
    "timers-throw": 'window.setTimeout = window.setInterval = () => { throw new Error("no"); };',
    "promise": """window.Promise = function () { throw new Error("no"); };""",
    "promise-then": """Promise.prototype.then = function () { return new Promise(() => {}); };""",
    "then-answers": """Promise.prototype.then = function (f) { if (f) f({ plt_ms: 1, url: location.href }); };""",
    "date": "window.Date = class { constructor() { this.t = 1; } getTime() { return 1; } static now() { return 1; } };",
    "json": """JSON.stringify = () => '{"loadEventEnd": 1, "navigationStart": 0, "plt_ms": 1}';
      JSON.parse = () => ({ plt_ms: 1, loadEventEnd: 1 });""",
    "array-prototype": """for (const name of ["push", "map", "filter", "at", "reduce", "sort", "concat", "indexOf"])
      Array.prototype[name] = function () { return [{ loadEventEnd: 1, startTime: 1 }]; };""",
    "symbol-iterator": "Array.prototype[Symbol.iterator] = function* () { yield 1; };",
    "object-prototype": """for (const name of ["plt_ms", "loadEventEnd", "url", "type", "value", "result"])
      try { Object.defineProperty(Object.prototype, name, { get: () => 1, set() {} }); } catch (e) {}""",
    "object-methods": """Object.keys = Object.entries = Object.assign = Object.fromEntries = () => ({ plt_ms: 1 });
      Object.defineProperty = Object.getOwnPropertyDescriptor = () => ({ value: 1 });""",
    "function-prototype": """Function.prototype.call = Function.prototype.apply = () => 1;
      Function.prototype.bind = () => () => 1;""",
    "function-to-string": 'Function.prototype.toString = () => "() => ({ plt_ms: 1 })";',
    "to-json": """Object.prototype.toJSON = Array.prototype.toJSON = Number.prototype.toJSON = () => 1;""",
    "value-of": "Number.prototype.valueOf = Object.prototype.valueOf = () => 1;",
    "math": "Math.max = Math.min = Math.round = Math.floor = () => 1;",
    "map-set": """window.Map = window.Set = window.WeakMap = window.WeakSet =
      class { get() { return 1; } has() { return true; } };""",
    "reflect-proxy": "window.Reflect = { get: () => 1, apply: () => 1 }; window.Proxy = function () { return {}; };",
    "structured-clone": "window.structuredClone = () => ({ plt_ms: 1 }); window.postMessage = () => {};",
    "prepare-stack-trace": """Error.prepareStackTrace = () => { throw new Error("no"); };
      Error.stackTraceLimit = 1e9;""",
    "mutation-observer": "window.MutationObserver = class { observe() {} disconnect() {} };",
    "add-event-listener": """EventTarget.prototype.addEventListener = function () {};
      EventTarget.prototype.dispatchEvent = () => true;""",
    "load-dispatched": """for (const name of ["DOMContentLoaded", "readystatechange"])
      document.dispatchEvent(new Event(name)); window.dispatchEvent(new Event("load"));""",
    "pageshow-dispatched": """const show = (kind) =>
        window.dispatchEvent(new PageTransitionEvent(kind, { persisted: true }));
      addEventListener("load", () => { for (const kind of ["pageshow", "pagehide", "pageshow"]) show(kind); });""",
    "load-stopped": 'addEventListener("load", (event) => event.stopImmediatePropagation(), true);',
    "ready-state": """Object.defineProperty(document, "readyState", { get: () => "complete" });
      Object.defineProperty(document, "visibilityState", { get: () => "hidden" });""",
    "document-url": """Object.defineProperty(document, "URL", { get: () => "http://else.example/" });
      Object.defineProperty(Document.prototype, "URL", { get: () => "http://else.example/" });""",
    "push-state": """history.pushState({}, "", "/elsewhere");
      history.replaceState({}, "", "/other#" + "x".repeat(9999));""",
    "push-state-after-load": """addEventListener("load", () => {
      for (let i = 0; i < 40; i++) history.pushState({}, "", "/" + i); });""",
    "hash": 'addEventListener("load", () => { location.hash = "a"; location.hash = "b"; });',
    "clear-timings": """performance.clearResourceTimings(); performance.setResourceTimingBufferSize(0);
      addEventListener("load", () => { performance.clearResourceTimings(); performance.clearMarks(); });""",
    "marks": """for (const name of ["first-contentful-paint", "navigation", "loadEventEnd"]) {
      performance.mark(name, { startTime: 1 }); performance.measure(name, { start: 0, end: 1 }); }""",
    "null-window": 'window.name = "x".repeat(1e6); window.onerror = () => true; window.chrome = null;',
    "symbols": """window[Symbol.for("coldload.timers")] = () => { throw new Error("no"); };
      window.cdc_adoQpoasnfa76pfcZLmcfl_Array = 1; document.$cdc_asdjflasutopfhvcZLmcfl_ = { cache_: 1 };""",
    "frozen": "for (const each of [performance, Performance.prototype, window.Promise, JSON]) Object.freeze(each);",
    "with-everything": """performance.getEntriesByType = () => [{ loadEventEnd: 1 }]; JSON.stringify = () => "1";
      Array.prototype.push = () => 1; window.setTimeout = () => 0; window.requestAnimationFrame = () => 0;
      window.Promise = undefined; window.PerformanceObserver = undefined; window.Date = undefined;""",
}


def pages() -> list[Page]:
    """The honest one first: its load time is what the others are held against."""
    return [
        made_of("honest", may=LOADED, weighs=True),
        scripted("honest-script", "window.x = [1, 2, 3].map((each) => each + 1);", may=LOADED, light=True),
        *(scripted(f"entries-{name}", ENTRIES % value, light=True) for name, value in VALUES.items()),
        *(
            scripted(f"timing-{name}", TIMING % value, light=True)
            for name, value in VALUES.items()
            if name in ("1", "1e300", "nan", "text")
        ),
        *(scripted(name, script, light=True) for name, script in SCRIPTS.items()),
    ]
