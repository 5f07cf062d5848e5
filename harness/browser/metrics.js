// Read what the page's own timeline holds after its load event. Times are ms since navigation start.
// Two animation frames pass first, so that the last paint is on the timeline.
async () => {
  const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 250); });
  await frame();
  await frame();
  const collected = (type) => {
    if (!PerformanceObserver.supportedEntryTypes.includes(type)) return null;
    const entries = [];
    new PerformanceObserver((list) => entries.push(...list.getEntries())).observe({ type, buffered: true });
    return entries;
  };
  const [lcp, shifts, tasks] = ["largest-contentful-paint", "layout-shift", "longtask"].map(collected);
  await frame();  // the buffered entries arrive in tasks of their own
  await new Promise((done) => setTimeout(done, 0));
  const navigation = performance.getEntriesByType("navigation")[0];
  const fcp = performance.getEntriesByName("first-contentful-paint")[0];
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
    url: document.URL,
    plt_ms: navigation?.loadEventEnd || null,
    ttfb_ms: navigation?.responseStart || null,
    dcl_ms: navigation?.domContentLoadedEventEnd || null,
    fetch_start_ms: navigation ? navigation.fetchStart : null,
    fcp_ms: fcp ? fcp.startTime : null,
    lcp_ms: last ? last.startTime : null,
    cls: shifts ? Math.max(0, ...windows.map((each) => each.sum)) : null,
    tbt_ms: tasks && fcp ? blocking : null,
  };
}
