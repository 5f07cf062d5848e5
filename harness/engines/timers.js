// Takes the clock out of a page, as the first script of its documents: what scripts put off by half a second or more
// waits until it is called for, so that a picture of the page does not depend on when it is taken.
// window[Symbol.for("coldload.timers")]() then runs what waits for at most ten seconds, each once, by its delay and
// the order in which it was set; what these put off again, and what waits for longer, never comes.
(() => {
  const LATE_MS = 500, LATEST_MS = 10000, NEVER_MS = 0x7fffffff;
  const soon = window.setTimeout;
  const waiting = new Map();
  for (const kind of ["Timeout", "Interval"]) {
    const set = window[`set${kind}`], clear = window[`clear${kind}`];
    window[`set${kind}`] = function (handler, delay, ...rest) {
      const delay_ms = Number(delay);
      if (!(delay_ms >= LATE_MS)) return set.call(this, handler, delay, ...rest);
      const id = set.call(this, handler, NEVER_MS);
      waiting.set(id, { delay_ms, run: () => soon(handler, 0, ...rest) });
      return id;
    };
    window[`clear${kind}`] = function (id) {  // either clears both kinds
      waiting.delete(Number(id));
      return clear.call(this, id);
    };
  }
  window[Symbol.for("coldload.timers")] = () => {
    const due = [...waiting].filter(([, each]) => each.delay_ms <= LATEST_MS)
      .sort(([, one], [, other]) => one.delay_ms - other.delay_ms).map(([id]) => id);
    const next = () => {
      const id = due.shift();
      if (id === undefined) return;
      if (waiting.has(id)) waiting.get(id).run();  // one that ran before it may have cleared it
      waiting.delete(id);
      soon(next, 0);
    };
    next();
  };
})();
