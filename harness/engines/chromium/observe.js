// Runs in an isolated world: keeps what the timeline of one document tells, from before its first script or, run later,
// what the browser has buffered of it. The page's scripts cannot reach this world. Its own objects are untouched, but
// what the page names in its markup stands above the attributes of `document` and of forms here, too: nothing here
// asks `document`, and elements are asked by the getters of their prototypes.
() => {
  if (globalThis.coldload) return;
  const local = Object.getOwnPropertyDescriptor(Element.prototype, "localName").get;
  const attribute = (element, name) => Element.prototype.getAttribute.call(element, name);
  const named = (element) => {  // as in `img#hero.wide`
    if (!element) return null;
    const id = attribute(element, "id"), classes = (attribute(element, "class") ?? "").trim();
    return (local.call(element) + (id ? "#" + id : "") + (classes ? "." + classes.split(/\s+/).join(".") : "")).slice(0, 300);
  };
  const kept = {
    "largest-contentful-paint": (entry) => ({
      start: entry.startTime, size: entry.size, element: named(entry.element), url: entry.url.slice(0, 5000) || null,
    }),
    "layout-shift": (entry) => ({ start: entry.startTime, value: entry.value, input: entry.hadRecentInput }),
    "longtask": (entry) => ({ start: entry.startTime, duration: entry.duration }),
    "paint": (entry) => ({ start: entry.startTime, name: entry.name }),
  };
  const seen = globalThis.coldload = { dropped: 0 };
  for (const [type, keep] of Object.entries(kept)) {
    if (!PerformanceObserver.supportedEntryTypes.includes(type)) continue;
    const entries = seen[type] = [];
    const observer = new PerformanceObserver((list, _, told) => {
      entries.push(...list.getEntries().map(keep));
      seen.dropped += told?.droppedEntriesCount ?? 0;
    });
    observer.observe({ type, buffered: true });
    entries.rest = () => entries.push(...observer.takeRecords().map(keep));
  }
  seen.rest = () => { for (const type of Object.keys(kept)) seen[type]?.rest(); };
  // Two animation frames, so that the last paint is on the timeline; entries arrive in tasks of their own.
  const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 250); });
  seen.whole = async () => {
    await frame();
    await frame();
    await frame();
    await new Promise((done) => setTimeout(done, 0));
    seen.rest();
  };
}
