// Tells of the largest paint of the page, as its process has it (Xray vision, see timeline.js): ms since navigation
// start, which is `time_origin_ms`. Frames are counted, and not read. Firefox tells of no shifts and no long tasks.
const frame = () => new Promise((done) => { window.requestAnimationFrame(done); window.setTimeout(done, 250); });
const named = (element) => {  // as in `img#hero.wide`
  if (!element) return null;
  const id = element.getAttribute("id"), classes = (element.getAttribute("class") ?? "").trim();
  return (element.localName + (id ? `#${id}` : "") + (classes ? `.${classes.split(/\s+/).join(".")}` : "")).slice(0, 300);
};
return frame().then(frame).then(frame).then(() => {
  const timeline = window.performance;
  const watch = new window.PerformanceObserver(() => {});
  watch.observe({ type: "largest-contentful-paint", buffered: true });
  const largest = Array.from(watch.takeRecords()).at(-1);
  watch.disconnect();
  const fcp = timeline.getEntriesByType("paint").find((entry) => entry.name === "first-contentful-paint");
  return {
    time_origin_ms: timeline.timeOrigin,
    now_ms: timeline.now(),
    visible: window.innerWidth * window.innerHeight,
    frames: window.length,
    dropped: 0,
    fcp_ms: fcp ? fcp.startTime : null,
    largest: largest ? {
      start: largest.startTime, size: largest.size, element: named(largest.element), url: largest.url.slice(0, 5000) || null,
    } : null,
  };
});
