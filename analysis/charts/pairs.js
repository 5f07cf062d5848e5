// Which requests of two loads are the same, and what changed from one load to the other. Nothing here touches the page.
// As analysis/evaluation/loads.py has it: a request is the same by method and address, whatever the scheme.
const waterfallPairs = (() => {
  "use strict";
  const URL_ = 0, STATUS = 9, BYTES = 10, METHOD = 14;

  function keys(load) {
    const seen = new Map();
    return load.requests.map((each) => {
      const key = `${each[METHOD]} ${each[URL_].split("://").slice(1).join("://")}`, n = seen.get(key) ?? 0;
      seen.set(key, n + 1);
      return `${n} ${key}`;
    });
  }

  // The positions in a list of different numbers that belong to one of its longest rising parts.
  function rising(numbers) {
    const tails = [], before = [];  // positions
    numbers.forEach((n, at) => {
      let low = 0, high = tails.length;
      while (low < high) { const mid = (low + high) >> 1; if (numbers[tails[mid]] < n) low = mid + 1; else high = mid; }
      before[at] = low ? tails[low - 1] : -1;
      tails[low] = at;
    });
    const found = new Set();
    for (let at = tails.length ? tails[tails.length - 1] : -1; at >= 0; at = before[at]) found.add(at);
    return found;
  }

  // A pair per request of either load, in the order of the first one. What the second one alone has follows the request that it follows there.
  function paired(first, second) {
    const [before, after] = [keys(first), keys(second)];
    const places = new Map(after.map((key, n) => [key, n])), numbers = new Map(before.map((key, n) => [key, n]));
    const common = before.filter((key) => places.has(key));
    const kept = rising(common.map((key) => places.get(key)));
    const moved = new Set(common.filter((_, at) => !kept.has(at)));
    const alone = new Map();  // of the second, by the number in the first that they follow
    let last = -1;
    after.forEach((key, n) => {
      if (numbers.has(key)) last = numbers.get(key);
      else {
        if (!alone.has(last)) alone.set(last, []);
        alone.get(last).push({ both: [null, second.requests[n]], notes: ["in the second alone"] });
      }
    });
    const pairs = [...(alone.get(-1) ?? [])];
    before.forEach((key, n) => {
      const both = [first.requests[n], places.has(key) ? second.requests[places.get(key)] : null];
      pairs.push({ both, notes: both[1] ? differences(...both, moved.has(key)) : ["in the first alone"] }, ...(alone.get(n) ?? []));
    });
    return { pairs, common: common.length, moved: moved.size };
  }

  function differences(first, second, moved) {
    const notes = [];
    const more = (second[BYTES] ?? NaN) - (first[BYTES] ?? NaN);
    if (more) notes.push(`${more > 0 ? "+" : "\u2212"}${(Math.abs(more) / 1000).toFixed(Math.abs(more) < 99950 ? 1 : 0)} kB`);
    if (first[STATUS] !== second[STATUS]) notes.push(`status ${first[STATUS] || "none"} and ${second[STATUS] || "none"}`);
    if (moved) notes.push("in another place of the order");
    return notes;
  }

  // In one line.
  function changes(first, second, { pairs, common, moved }) {
    const bytes = (load) => (load.requests.reduce((sum, each) => sum + (each[BYTES] ?? 0), 0) / 1000).toFixed(1);
    const parts = [`requests ${first.requests.length} and ${second.requests.length}`, `bodies ${bytes(first)} kB and ${bytes(second)} kB`,
      `connections ${first.connections ?? "?"} and ${second.connections ?? "?"}`];
    const alone = [0, 1].map((n) => pairs.filter((pair) => !pair.both[1 - n]).length);
    if (alone[0]) parts.push(`${alone[0]} in the first alone`);
    if (alone[1]) parts.push(`${alone[1]} in the second alone`);
    parts.push(`${moved} of ${common} in another order`);
    return parts.join(", ");
  }

  return { paired, changes };
})();
