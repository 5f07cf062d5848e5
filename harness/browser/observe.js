// Runs in an isolated world before any script of a document: keeps what the page's timeline tells from then on.
// The page's scripts cannot reach this world. Its own objects are untouched, but what the page names in its markup
// stands above the attributes of `document` here, too: nothing here asks `document`.
(() => {
  if (window !== window.top) return;
  const seen = { "largest-contentful-paint": null, "layout-shift": null, "longtask": null, "paint": null };
  for (const type of Object.keys(seen)) {
    if (!PerformanceObserver.supportedEntryTypes.includes(type)) continue;
    const entries = seen[type] = [];
    const observer = new PerformanceObserver((list) => entries.push(...list.getEntries()));
    observer.observe({ type, buffered: true });
    entries.rest = () => entries.push(...observer.takeRecords());
  }
  globalThis.coldload = seen;
})();
