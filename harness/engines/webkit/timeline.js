// Reads, in a script world of its own, the times of a page that has had its load event: ms since navigation start,
// whole ones. The page's scripts cannot reach this world, and its own objects are untouched. Animation frames pass
// first, so that the last paint is on the timeline.
const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 250); });
await frame();
await frame();
await frame();
await new Promise((done) => setTimeout(done, 0));
const navigation = performance.getEntriesByType("navigation")[0];
const fcp = performance.getEntriesByType("paint").find((entry) => entry.name === "first-contentful-paint");
const ms = (time) => time ? Math.round(time * 1000) / 1000 : null;
return JSON.stringify({
  plt_ms: ms(navigation?.loadEventEnd),
  ttfb_ms: ms(navigation?.responseStart),
  dcl_ms: ms(navigation?.domContentLoadedEventEnd),
  fcp_ms: ms(fcp?.startTime),
  time_origin_ms: performance.timeOrigin,
});
