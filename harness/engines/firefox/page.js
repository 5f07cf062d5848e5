// What is asked of a page that has had its load event, in its own process with the browser's rights: it is the engine's
// own (Xray vision), whatever the page's scripts have put in its place. Times are ms since navigation start.
const frame = () => new Promise((done) => { window.requestAnimationFrame(done); window.setTimeout(done, 250); });

// The times of the load, and the channel that the document came by: none of one that is not from the network. Two
// animation frames pass first, so that the last paint is on the timeline.
function timeline() {
  return frame().then(frame).then(() => {
    const timeline = window.performance;
    const navigation = timeline.getEntriesByType("navigation")[0];
    const fcp = timeline.getEntriesByType("paint").find((entry) => entry.name === "first-contentful-paint");
    return {
      plt_ms: navigation?.loadEventEnd || null,
      ttfb_ms: navigation?.responseStart || null,
      dcl_ms: navigation?.domContentLoadedEventEnd || null,
      fcp_ms: fcp ? fcp.startTime : null,
      time_origin_ms: timeline.timeOrigin,
      channel: (() => { try { return window.docShell.currentDocumentChannel.QueryInterface(Ci.nsIHttpChannel).channelId; } catch { return null; } })(),
    };
  });
}

// The largest paint. Frames are counted, and not read. Firefox tells of no shifts and no long tasks.
function entries() {
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
      dropped: null,
      fcp_ms: fcp ? fcp.startTime : null,
      largest: largest ? {
        start: largest.startTime, size: largest.size, element: named(largest.element), url: largest.url.slice(0, 5000) || null,
      } : null,
    };
  });
}

// What the page has written to its console as errors.
function errors() {
  const storage = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage);
  const own = window.windowGlobalChild.innerWindowId;
  return storage.getEvents(own).filter((each) => each.level === "error").slice(0, 1000)
    .map((each) => Array.from(each.arguments, (part) => typeof part === "object" && part !== null ? "[object]" : String(part)).join(" "));
}
