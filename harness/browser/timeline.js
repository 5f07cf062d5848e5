// Reads, in the isolated world of observe.js, what it kept of a page that has had its load event. Times are ms since
// navigation start. Two animation frames pass first, so that the last paint is on the timeline.
async () => {
  const seen = globalThis.coldload;
  if (!seen) return null;
  const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 250); });
  await frame();
  await frame();
  await frame();  // entries arrive in tasks of their own
  await new Promise((done) => setTimeout(done, 0));
  for (const entries of Object.values(seen)) entries?.rest();
  const [lcp, shifts, tasks] = ["largest-contentful-paint", "layout-shift", "longtask"].map((type) => seen[type]);
  const navigation = performance.getEntriesByType("navigation")[0];
  const fcp = seen.paint?.find((entry) => entry.name === "first-contentful-paint");
  const last = lcp?.at(-1);
  const windows = [];  // session windows of layout shifts: at most 1 s apart, 5 s long (web.dev/cls)
  for (const shift of (shifts ?? []).filter((entry) => !entry.hadRecentInput)) {
    const open = windows.at(-1);
    if (open && shift.startTime - open.end < 1000 && shift.startTime - open.start < 5000) {
      open.sum += shift.value; open.end = shift.startTime;
    } else {
      windows.push({ start: shift.startTime, end: shift.startTime, sum: shift.value });
    }
  }
  const blocking = (tasks ?? []).filter((entry) => fcp && entry.startTime >= fcp.startTime)
    .reduce((sum, entry) => sum + Math.max(0, entry.duration - 50), 0);
  return {
    plt_ms: navigation?.loadEventEnd || null,
    ttfb_ms: navigation?.responseStart || null,
    dcl_ms: navigation?.domContentLoadedEventEnd || null,
    fcp_ms: fcp ? fcp.startTime : null,
    lcp_ms: last ? last.startTime : null,
    cls: shifts ? Math.max(0, ...windows.map((each) => each.sum)) : null,
    tbt_ms: tasks && fcp ? blocking : null,
  };
}
