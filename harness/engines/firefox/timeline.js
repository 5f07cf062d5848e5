// Reads the times of a page that has had its load event, in its own process with the browser's rights: what is asked is
// the engine's own (Xray vision), whatever the page's scripts have put in its place. ms since navigation start. Two
// animation frames pass first, so that the last paint is on the timeline.
const frame = () => new Promise((done) => { window.requestAnimationFrame(done); window.setTimeout(done, 250); });
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
  };
});
