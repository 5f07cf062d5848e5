// Tells, in an isolated world, what observe.js kept of one document: the tab's own, or that of a frame. Times are ms
// since the document's own navigation start, which is `time_origin_ms`.
async () => {
  const seen = globalThis.coldload;
  if (!seen) return null;
  const area = (left, top, right, bottom) => Math.max(0, right - left) * Math.max(0, bottom - top);
  const whole = innerWidth * innerHeight;
  // How much of the frame's viewport can be seen in the tab's, in square pixels: from the share of its root element.
  const visible = () => new Promise((done) => {
    const root = Object.getOwnPropertyDescriptor(Document.prototype, "documentElement").get.call(document);
    if (!root) { done(0); return; }
    setTimeout(() => done(0), 1000);
    const watch = new IntersectionObserver((found) => {
      watch.disconnect();
      const box = found[0].boundingClientRect, cut = found[0].intersectionRect;
      const own = area(Math.max(0, box.left), Math.max(0, box.top),
        Math.min(innerWidth, box.right), Math.min(innerHeight, box.bottom));
      done(own ? whole * Math.min(1, area(cut.left, cut.top, cut.right, cut.bottom) / own) : 0);
    });
    watch.observe(root);
  });
  await seen.whole();
  const candidates = seen["largest-contentful-paint"] ?? [];
  const fcp = seen.paint?.find((entry) => entry.name === "first-contentful-paint")?.start ?? null;
  return {
    time_origin_ms: performance.timeOrigin,
    now_ms: performance.now(),
    visible: window === window.top ? whole : await visible(),
    frames: window.length,
    dropped: seen.dropped,
    fcp_ms: fcp,
    largest: candidates.at(-1) ?? null,
    // What a frame of another site paints before it is told which part of it can be seen has, for Chromium, no size: it
    // is no candidate, nor becomes one later.
    untold: window !== window.top && fcp !== null && !(candidates[0]?.start <= fcp),
    shifts: seen["layout-shift"]?.filter((entry) => !entry.input).map((entry) => [entry.start, entry.value]) ?? null,
    tasks: seen["longtask"]?.map((entry) => [entry.start, entry.duration]) ?? null,
  };
}
