// The waterfalls of a report: any two loads on one axis of times. Everything that a page named is set as text, never as markup.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("waterfall-data").textContent);
  const root = document.getElementById("waterfalls");
  const ROW = 18, SPARE = 12;
  const [URL_, START, KIND, STATUS, BYTES, CONNECTION, PRIORITY, PROTOCOL, METHOD, FLAGS] = [0, 1, 8, 9, 10, 11, 12, 13, 14, 15];
  const PHASE = 2, CACHED = 1, BLOCKS = 2;
  const at = (name) => root.querySelector(`[data-part="${name}"]`);
  const make = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const host = (url) => url.split("/")[2] ?? "";
  const end = (request) => { let t = request[START]; for (let n = 0; n < 6; n++) t += request[PHASE + n]; return t; };
  const ms = (value) => value >= 9995 ? `${(value / 1000).toFixed(1)} s` : value >= 999.5 ? `${(value / 1000).toFixed(2)} s` : `${Math.round(value)} ms`;
  const kb = (bytes) => bytes === null ? "size not known" : `${(bytes / 1000).toFixed(bytes < 99950 ? 1 : 0)} kB`;
  const option = (select, value, text) => { const made = make("option", "", text); made.value = value; select.append(made); };

  const view = { from: 0, to: 1, first: 0, last: 1 };  // shares of the whole time, and the whole time in ms
  const panels = ["upper", "lower"].map((name) => ({
    name, load: null, shown: [], shift: 0, chosen: -1, element: at(name), inner: make("div", "inner"), marks: make("div", "marks"),
    film: at(`${name}-film`), seen: at(`${name}-seen`), seenAt: Infinity,
  }));
  for (const panel of panels) {
    panel.element.append(panel.marks, panel.inner);
    panel.element.addEventListener("scroll", () => draw(panel));
    panel.element.addEventListener("keydown", (event) => press(panel, event));
    panel.element.addEventListener("pointermove", (event) => point(panel, event));
    panel.film.addEventListener("pointermove", (event) => point(panel, event));
    panel.element.addEventListener("click", (event) => { const n = under(panel, event); if (n >= 0) choose(panel, n); });
  }

  data.loads.forEach((load, number) => { option(at("first"), number, load.label); option(at("second"), number, load.label); });
  option(at("second"), "", "none");
  at("second").value = data.loads.length > 1 ? "1" : "";
  option(at("align"), "", "start");
  for (const name of Object.keys(data.marks)) {
    if (data.loads.some((load) => name in load.marks)) option(at("align"), name, name);
  }
  data.phases.forEach((name, number) => { const made = make("span", "key", name); made.style.borderColor = data.colours[number]; at("legend").append(made); });
  for (const [name, colour] of Object.entries(data.marks)) { const made = make("span", "key line", name); made.style.borderColor = colour; at("legend").append(made); }

  function fill(select, values, all) {
    const before = select.value;
    select.replaceChildren();
    option(select, "", all);
    for (const value of values) option(select, value, value);
    select.value = values.includes(before) ? before : "";
  }

  function chooseLoads() {
    const numbers = [at("first").value, at("second").value];
    panels.forEach((panel, n) => { panel.load = numbers[n] === "" ? null : data.loads[numbers[n]]; panel.element.hidden = !panel.load; });
    for (const panel of panels) panel.seenAt = Infinity;
    const requests = panels.flatMap((panel) => panel.load ? panel.load.requests : []);
    fill(at("type"), [...new Set(requests.map((each) => each[KIND]))].sort(), "all types");
    fill(at("host"), [...new Set(requests.map((each) => host(each[URL_])))].sort(), "all hosts");
    at("changes").textContent = panels[1].load ? changes(panels[0].load, panels[1].load) : "";
    refresh();
  }

  function refresh() {
    const [type, name, align] = [at("type").value, at("host").value, at("align").value];
    let first = 0, last = 1;
    for (const panel of panels.filter((each) => each.load)) {
      panel.shift = panel.load.marks[align] ?? 0;
      panel.shown = panel.load.requests.filter((each) => (!type || each[KIND] === type) && (!name || host(each[URL_]) === name));
      panel.chosen = -1;
      for (const each of panel.load.requests) { first = Math.min(first, each[START] - panel.shift); last = Math.max(last, end(each) - panel.shift); }
      for (const mark of Object.values(panel.load.marks)) last = Math.max(last, mark - panel.shift);
      if (panel.load.film) last = Math.max(last, panel.load.film.frames.at(-1)[0] - panel.shift);
      if (align) first = Math.min(first, -panel.shift);
      panel.element.setAttribute("aria-label", `${panel.load.label}: ${panel.shown.length} of ${panel.load.requests.length} requests`);
      panel.inner.style.height = `${panel.shown.length * ROW + ROW}px`;
      panel.element.scrollTop = 0;
    }
    view.first = first; view.last = last + (last - first) * 0.02;
    zoom();
  }

  function zoom() {
    const share = 1 / 2 ** Number(at("zoom").value);
    const from = Number(at("pan").value) * (1 - share);
    view.from = from; view.to = from + share;
    for (const panel of panels) { draw(panel); project(panel); }
  }

  const place = (panel, t) => {  // of a time, as a share of the width
    const whole = view.last - view.first;
    return ((t - panel.shift - view.first) / whole - view.from) / (view.to - view.from);
  };
  const labels = (panel) => panel.element.clientWidth < 600 ? 110 : 260;  // the width of names, in px
  const width = (panel) => Math.max(50, panel.element.clientWidth - labels(panel) - SPARE);

  function draw(panel) {
    if (!panel.load) return;
    const wide = width(panel), top = panel.element.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW) - 5), last = Math.min(panel.shown.length, first + Math.ceil(panel.element.clientHeight / ROW) + 10);
    panel.inner.replaceChildren(...panel.shown.slice(first, last).map((each, n) => row(panel, each, first + n, wide)));
    panel.marks.style.height = `${panel.shown.length * ROW + ROW}px`;
    panel.marks.replaceChildren(...Object.entries(panel.load.marks).filter(([, t]) => place(panel, t) >= 0 && place(panel, t) <= 1).map(([name, t]) => {
      const made = make("div", "mark"); made.style.left = `${labels(panel) + place(panel, t) * wide}px`; made.style.borderColor = data.marks[name] ?? "#000"; made.title = `${name} ${ms(t)}`; return made;
    }));
  }

  // The film of a panel: pictures beside each other, each of the time in its middle.
  const shownAt = (film, t) => film.frames.findLast((each) => each[0] <= t) ?? film.frames[0];
  const picture = (frame, alt) => { const made = make("img"); made.src = `data:image/webp;base64,${frame[2]}`; made.alt = alt; return made; };
  const time = (panel, share) => view.first + (view.from + share * (view.to - view.from)) * (view.last - view.first) + panel.shift;
  function project(panel) {
    const film = panel.load?.film;
    panel.film.hidden = !film;
    if (panel.seen) panel.seen.hidden = !film;
    if (!film) return;
    const wide = width(panel), each = panel.film.clientHeight * film.size[0] / film.size[1], count = Math.max(1, Math.floor(wide / each));
    panel.film.replaceChildren(...Array.from({ length: count }, (_, n) => {
      const made = picture(shownAt(film, time(panel, (n + 0.5) / count)), "");
      made.style.left = `${labels(panel) + (n + 0.5) / count * wide}px`; made.style.transform = "translateX(-50%)";
      return made;
    }));
    see(panel, panel.seenAt);
  }
  function see(panel, t) {
    const film = panel.load?.film;
    if (!film || !panel.seen) return;
    panel.seenAt = t;
    const frame = shownAt(film, t), told = `${panel.name}, ${Number.isFinite(t) ? `at ${ms(t)}` : "at the end"}: ${Math.round(100 * frame[1])} %`;
    panel.seen.replaceChildren(picture(frame, ""), make("figcaption", "", told));
  }

  function row(panel, request, number, wide) {
    const made = make("div", number === panel.chosen ? "row chosen" : "row");
    made.style.top = `${number * ROW}px`;
    const name = make("span", request[STATUS] >= 400 || !request[STATUS] ? "name failed" : "name", short(request, panel.load));
    name.style.width = `${labels(panel) - 10}px`;
    if (request[FLAGS] & BLOCKS) name.prepend(make("b", "blocks", "\u25b6 "));
    made.append(name);
    let t = request[START];
    data.phases.forEach((_, n) => {
      const took = request[PHASE + n];
      const [left, right] = [place(panel, t), place(panel, t + took)].map((x) => Math.min(1, Math.max(0, x)));
      t += took;
      if (took <= 0 || right <= left) return;
      const bar = make("i", n ? "" : "thin");
      bar.style.left = `${labels(panel) + left * wide}px`; bar.style.width = `${Math.max(1, (right - left) * wide)}px`; bar.style.background = data.colours[n];
      made.append(bar);
    });
    return made;
  }

  function short(request, load) {
    const [path, query] = request[URL_].split(/\?(.*)/s), parts = path.split("/");
    const name = (parts.slice(3).filter(Boolean).pop() ?? "/") + (query ? `?${query}` : "");
    return host(request[URL_]) === host(load.requests[0][URL_]) ? name : `${host(request[URL_])} ${name}`;
  }

  function tell(panel, number) {
    const request = panel.shown[number];
    if (!request) return;
    const took = data.phases.map((name, n) => request[PHASE + n] ? `${name} ${ms(request[PHASE + n])}` : "").filter(Boolean).join(", ");
    const parts = [`${number + 1} of ${panel.shown.length}`, request[METHOD], request[URL_], request[FLAGS] & CACHED ? "from the cache" : request[STATUS] || "no answer",
      kb(request[BYTES]), request[PROTOCOL], request[CONNECTION] && `connection ${request[CONNECTION]}`, request[PRIORITY], `from ${ms(request[START])} to ${ms(end(request))}`, took];
    at("told").textContent = parts.filter(Boolean).join(" \u00b7 ");
  }

  function choose(panel, number) {
    panel.chosen = Math.min(panel.shown.length - 1, Math.max(0, number));
    const top = panel.chosen * ROW, high = panel.element.clientHeight;
    if (top < panel.element.scrollTop) panel.element.scrollTop = top;
    else if (top + 2 * ROW > panel.element.scrollTop + high) panel.element.scrollTop = top + 2 * ROW - high;
    draw(panel); tell(panel, panel.chosen);
    if (panel.shown[panel.chosen]) see(panel, end(panel.shown[panel.chosen]));
  }

  function press(panel, event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 }[event.key];
    const pan = { ArrowRight: 0.05, ArrowLeft: -0.05 }[event.key];
    if (step === undefined && pan === undefined) return;
    event.preventDefault();
    if (step !== undefined) choose(panel, panel.chosen + step);
    else { at("pan").value = Number(at("pan").value) + pan; zoom(); }
  }

  const under = (panel, event) => {
    const number = Math.floor((event.clientY - panel.element.getBoundingClientRect().top + panel.element.scrollTop) / ROW);
    return number >= 0 && number < panel.shown.length ? number : -1;
  };
  function point(panel, event) {
    const x = event.clientX - panel.element.getBoundingClientRect().left - labels(panel);
    const share = view.from + (x / width(panel)) * (view.to - view.from);
    const inside = x >= 0 && share <= view.to;
    for (const each of root.querySelectorAll(".cursor")) { each.hidden = !inside; each.style.left = `${labels(panel) + x}px`; }
    at("time").textContent = inside ? ms(view.first + share * (view.last - view.first)).replace("-", "\u2212") : "";
    if (inside) for (const each of panels) see(each, time(each, x / width(panel)));
    if (event.currentTarget === panel.film) return;
    const number = under(panel, event);
    if (number >= 0) tell(panel, number);
  }

  // As analysis/evaluation/loadchanges.py has it: a request is the same by method and address, whatever the scheme.
  function changes(first, second) {
    const keys = (load) => { const seen = new Map(); return load.requests.map((each) => {
      const key = `${each[METHOD]} ${each[URL_].split("://").slice(1).join("://")}`, n = seen.get(key) ?? 0; seen.set(key, n + 1); return `${n} ${key}`; }); };
    const [before, after] = [keys(first), keys(second)];
    const places = new Map(after.map((key, n) => [key, n])), known = new Set(before);
    const common = before.filter((key) => places.has(key)).map((key) => places.get(key));
    const tails = [];
    for (const n of common) { let low = 0, high = tails.length; while (low < high) { const mid = (low + high) >> 1; if (tails[mid] < n) low = mid + 1; else high = mid; } tails[low] = n; }
    const bytes = (load) => (load.requests.reduce((sum, each) => sum + (each[BYTES] ?? 0), 0) / 1000).toFixed(1);
    const parts = [`requests ${before.length} and ${after.length}`, `bodies ${bytes(first)} kB and ${bytes(second)} kB`, `connections ${first.connections ?? "?"} and ${second.connections ?? "?"}`];
    const [alone, others] = [before.length - common.length, after.filter((key) => !known.has(key)).length];
    if (alone) parts.push(`${alone} in the upper alone`);
    if (others) parts.push(`${others} in the lower alone`);
    parts.push(`${common.length - tails.length} of ${common.length} in another order`);
    return parts.join(", ");
  }

  for (const name of ["first", "second"]) at(name).addEventListener("change", chooseLoads);
  for (const name of ["type", "host", "align"]) at(name).addEventListener("change", refresh);
  for (const name of ["zoom", "pan"]) at(name).addEventListener("input", zoom);
  addEventListener("resize", zoom);
  root.hidden = false;
  chooseLoads();
})();
