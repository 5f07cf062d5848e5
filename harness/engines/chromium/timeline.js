// Reads, in the isolated world of observe.js, the times of a page that has had its load event: ms since navigation
// start. Two animation frames pass first, so that the last paint is on the timeline.
async () => {
  const seen = globalThis.coldload;
  if (!seen) return null;
  await seen.whole();
  const navigation = performance.getEntriesByType("navigation")[0];
  const fcp = seen.paint?.find((entry) => entry.name === "first-contentful-paint");
  return {
    plt_ms: navigation?.loadEventEnd || null,
    ttfb_ms: navigation?.responseStart || null,
    dcl_ms: navigation?.domContentLoadedEventEnd || null,
    fcp_ms: fcp ? fcp.start : null,
    time_origin_ms: performance.timeOrigin,
  };
}
