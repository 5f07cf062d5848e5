// Interactive waterfalls: a load, or any two on one axis of times. Everything that a page named is set as text, never as markup.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("waterfall-data").textContent);
  const root = document.getElementById("waterfalls");
  const ROW = 18, SPARE = 12, SVG = "http://www.w3.org/2000/svg";
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
  let loads = [], paired = null;  // the chosen loads, and the pairs of two
  const shifts = new Map();  // of each load: what stands at 0 of the axis
  const notes = new Map();  // of each request that changed
  // A row holds a request of each of the panel's loads, or null; or, of one load, all requests of a connection.
  const panels = ["upper", "lower"].map((name) => ({
    name, loads: [], rows: [], chosen: -1, element: at(name), inner: make("div", "inner"), marks: make("div", "marks"),
  }));
  for (const panel of panels) {
    panel.element.append(panel.marks, panel.inner);
    panel.element.addEventListener("scroll", () => draw(panel));
    panel.element.addEventListener("keydown", (event) => press(panel, event));
    panel.element.addEventListener("pointermove", (event) => point(panel, event));
    panel.element.addEventListener("click", (event) => { const n = under(panel, event); if (n >= 0) choose(panel, n); });
  }

  // The film of each chosen load, and the time that it shows larger.
  const screens = ["upper", "lower"].map((name) => ({ film: at(`${name}-film`), seen: at(`${name}-seen`), at: Infinity }));
  for (const screen of screens) screen.film.addEventListener("pointermove", follow);

  // How busy link and main thread of each chosen load were.
  const busy = ["upper", "lower"].map((name) => at(`${name}-busy`));
  for (const each of busy) each.addEventListener("pointermove", follow);

  data.loads.forEach((load, number) => { option(at("first"), number, load.label); option(at("second"), number, load.label); });
  option(at("second"), "", "none");
  at("second").value = data.loads.length > 1 ? "1" : "";
  data.phases.forEach((name, number) => { const made = make("span", "key", name); made.style.borderColor = data.colours[number]; at("legend").append(made); });
  for (const [name, colour] of Object.entries(data.marks)) { const made = make("span", "key line", name); made.style.borderColor = colour; at("legend").append(made); }
  if (data.loads.some((load) => load.requests.some((each) => each[FLAGS] & BLOCKS))) at("legend").append(make("span", "", "\u25b6 the page could not be painted without it"));
  const hide = (name, hidden) => { for (const each of root.querySelectorAll(`.${name}`)) each.hidden = hidden; };
  hide("pick", data.loads.length < 2);

  function fill(select, values, all) {
    const before = select.value;
    select.replaceChildren();
    option(select, "", all);
    for (const value of values) option(select, value, value);
    select.value = values.includes(before) ? before : "";
  }

  function chooseLoads() {
    loads = [at("first").value, at("second").value].filter((number) => number !== "").map((number) => data.loads[number]);
    const requests = loads.flatMap((load) => load.requests);
    fill(at("type"), [...new Set(requests.map((each) => each[KIND]))].sort(), "all types");
    fill(at("host"), [...new Set(requests.map((each) => host(each[URL_])))].sort(), "all hosts");
    fill(at("align"), Object.keys(data.marks).filter((name) => loads.every((load) => name in load.marks)), "start");
    paired = loads.length > 1 ? waterfallPairs.paired(...loads) : null;
    for (const screen of screens) screen.at = Infinity;
    notes.clear();
    for (const pair of paired?.pairs ?? []) if (pair.notes.length) for (const each of pair.both) if (each) notes.set(each, pair.notes);
    hide("two", !paired);
    at("changes").textContent = paired ? waterfallPairs.changes(...loads, paired) : "";
    refresh();
  }

  function refresh() {
    const [type, name, align] = [at("type").value, at("host").value, at("align").value];
    const changed = paired && at("which").value, onTop = paired && at("layout").value;
    const wanted = (each) => (!type || each[KIND] === type) && (!name || host(each[URL_]) === name) && (!changed || notes.has(each));
    hide("top", !onTop); hide("apart", Boolean(onTop));
    const groups = onTop ? [loads] : loads.map((load) => [load]);
    let first = 0, last = 1;
    for (const load of loads) {
      const shift = load.marks[align] ?? 0;
      shifts.set(load, shift);
      for (const each of load.requests) { first = Math.min(first, each[START] - shift); last = Math.max(last, end(each) - shift); }
      for (const mark of Object.values(load.marks)) last = Math.max(last, mark - shift);
      if (load.activity) for (const [, , percent] of load.activity.rows) last = Math.max(last, percent.length * load.activity.step - shift);
      if (load.film) last = Math.max(last, load.film.frames.at(-1)[0] - shift);
      if (align) first = Math.min(first, -shift);
    }
    view.first = first; view.last = last + (last - first) * 0.02;
    panels.forEach((panel, n) => {
      panel.loads = groups[n] ?? [];
      panel.element.hidden = !panel.loads.length;
      panel.inner.replaceChildren(); panel.marks.replaceChildren();
      if (!panel.loads.length) return;
      panel.rows = onTop ? paired.pairs.map((pair) => pair.both) : panel.loads[0].requests.map((each) => [each]);
      panel.rows = panel.rows.filter((row) => row.some((each) => each && wanted(each)));
      if (!onTop && at("rows").value) panel.rows = connections(panel.rows.flat());
      panel.chosen = -1;
      const label = panel.loads.map((load) => load.label).join(" and "), most = onTop ? paired.pairs.length : panel.loads[0].requests.length;
      const told = panel.rows[0]?.connection === undefined ? `${panel.rows.length} of ${most} requests` : `${panel.rows.length} connections`;
      panel.element.setAttribute("aria-label", `${label}: ${told}`);
      panel.inner.style.height = panel.marks.style.height = `${panel.rows.length * ROW + ROW}px`;
      panel.element.scrollTop = 0;
    });
    zoom();
  }

  // In the order in which they were first used; what has none, as from a cache, is in no row.
  function connections(requests) {
    const found = new Map();
    for (const each of requests) {
      if (!each[CONNECTION]) continue;
      if (!found.has(each[CONNECTION])) found.set(each[CONNECTION], Object.assign([], { connection: each[CONNECTION] }));
      found.get(each[CONNECTION]).push(each);
    }
    return [...found.values()];
  }

  function zoom() {
    const share = 1 / 2 ** Number(at("zoom").value);
    const from = Number(at("pan").value) * (1 - share);
    view.from = from; view.to = from + share;
    panels.forEach(draw);
    project();
    busy.forEach((_, n) => drawBusy(n));
  }

  const place = (load, t) => {  // of a time, as a share of the width
    const whole = view.last - view.first;
    return ((t - shifts.get(load) - view.first) / whole - view.from) / (view.to - view.from);
  };
  const labels = (panel) => panel.element.clientWidth < 600 ? 110 : 260;  // the width of names, in px
  const width = (panel) => Math.max(50, panel.element.clientWidth - labels(panel) - SPARE);
  const lane = (panel, n) => panel.loads.length > 1 ? ` lane${n}` : "";
  const strength = (panel, n) => panel.loads.length > 1 ? Math.min(1, 2 * Math.abs(1 - n - Number(at("blend").value))) : 1;

  function draw(panel) {
    if (!panel.loads.length) return;
    const wide = width(panel), top = panel.element.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW) - 5), last = Math.min(panel.rows.length, first + Math.ceil(panel.element.clientHeight / ROW) + 10);
    panel.inner.replaceChildren(...panel.rows.slice(first, last).map((row, n) => rowOf(panel, row, first + n, wide)));
    panel.marks.replaceChildren(...panel.loads.flatMap((load, n) => Object.entries(load.marks)
      .filter(([, t]) => place(load, t) >= 0 && place(load, t) <= 1)
      .map(([name, t]) => {
        const made = make("div", `mark${lane(panel, n)}`);
        made.style.left = `${labels(panel) + place(load, t) * wide}px`; made.style.borderColor = data.marks[name] ?? "#000"; made.style.opacity = strength(panel, n);
        made.title = `${name} ${ms(t)}`;
        return made;
      })));
  }

  // The films: pictures beside each other, each of the time in its middle.
  const shownAt = (film, t) => film.frames.findLast((each) => each[0] <= t) ?? film.frames[0];
  const picture = (frame) => { const made = make("img"); made.src = `data:image/webp;base64,${frame[2]}`; made.alt = ""; return made; };
  const time = (load, share) => view.first + (view.from + share * (view.to - view.from)) * (view.last - view.first) + shifts.get(load);
  function project() {
    at("seen").hidden = !loads.some((load) => load.film);
    screens.forEach((screen, n) => {
      const film = loads[n]?.film, [panel] = panels;
      screen.film.hidden = screen.seen.hidden = !film;
      if (!film) return;
      const wide = width(panel), each = screen.film.clientHeight * film.size[0] / film.size[1], count = Math.max(1, Math.floor(wide / each));
      screen.film.replaceChildren(...Array.from({ length: count }, (_, number) => {
        const made = picture(shownAt(film, time(loads[n], (number + 0.5) / count)));
        made.style.left = `${labels(panel) + (number + 0.5) / count * wide}px`; made.style.transform = "translateX(-50%)";
        return made;
      }));
      see(n, screen.at);
    });
  }
  function see(n, t) {
    const film = loads[n]?.film, screen = screens[n];
    if (!film) return;
    screen.at = t;
    const frame = shownAt(film, t), which = n ? "second" : "first";
    screen.seen.replaceChildren(picture(frame), make("figcaption", "", `${which}, ${Number.isFinite(t) ? `at ${ms(t)}` : "at the end"}: ${Math.round(100 * frame[1])} %`));
  }

  // A row for each way of the link and for the main thread: for what share of each step it was busy.
  function drawBusy(n) {
    const element = busy[n], load = loads[n], told = load?.activity;
    element.hidden = !load;
    if (!load) return;
    const wide = width(panels[0]), left = labels(panels[0]);
    element.setAttribute("aria-label", `Link and main thread: ${load.label}`);
    if (!told) { element.replaceChildren(make("p", "", "When link and main thread were busy was not kept with this trial.")); return; }
    element.replaceChildren(...told.rows.map((row) => {
      const made = make("div"), name = make("span", "", busyText(row, NaN, told.step));
      name.style.width = `${left - 10}px`;
      made.append(name, area(row[2], (step) => place(load, step * told.step), wide, left, row[3]));
      return made;
    }));
  }
  function area(percent, share, wide, left, colour) {
    const svg = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
    const x = (step) => (Math.min(1, Math.max(0, share(step))) * wide).toFixed(1);
    path.setAttribute("d", `M${x(0)} 16${percent.map((each, step) => `V${(16 - each * 0.16).toFixed(1)}H${x(step + 1)}`).join("")}V16z`);
    path.setAttribute("fill", colour);
    svg.setAttribute("width", wide); svg.style.left = `${left}px`;
    svg.append(path);
    return svg;
  }
  function busyText([name, whole, percent], t, step) {  // at that time, if it is one
    const found = t >= 0 ? percent[Math.floor(t / step)] : undefined, most = whole === null ? "" : ` of ${Number(whole.toPrecision(3))} Mbit/s`;
    return found === undefined ? `${name}${most}` : `${name}: ${found} %${most}`;
  }
  function tellBusy(n, t) {
    const told = loads[n]?.activity;
    told?.rows.forEach((row, number) => { busy[n].children[number].firstChild.textContent = busyText(row, t, told.step); });
  }

  function rowOf(panel, row, number, wide) {
    const made = make("div", number === panel.chosen ? "row chosen" : "row");
    made.style.top = `${number * ROW}px`;
    if (row.connection !== undefined) return ofConnection(panel, row, made, wide);
    const n = row[0] ? 0 : 1, request = row[n];
    const name = make("span", request[STATUS] >= 400 || !request[STATUS] ? "name failed" : "name", short(request, panel.loads[n]));
    name.style.width = `${labels(panel) - 10}px`;
    if (row.some((each) => each && each[FLAGS] & BLOCKS)) name.prepend(make("b", "blocks", "\u25b6 "));
    if (panel.loads.length > 1 && notes.has(request)) name.prepend(make("span", "differs", `${brief(notes.get(request))} `));
    made.append(name, ...row.flatMap((each, load) => each ? bars(panel, each, load, wide) : []));
    return made;
  }

  function ofConnection(panel, requests, made, wide) {
    const name = make("span", "name", `${host(requests[0][URL_])} (${requests.length})`);
    name.style.width = `${labels(panel) - 10}px`;
    made.append(name, ...requests.flatMap((each) => bars(panel, each, 0, wide, 1)));
    return made;
  }

  const brief = (said) => said[0].includes("alone") ? (said[0].includes("first") ? "\u2212" : "+") : said[0].includes("kB") ? said[0] : "\u2195";

  function bars(panel, request, load, wide, first = 0) {  // from that phase on
    let t = request[START];
    return data.phases.flatMap((_, n) => {
      const took = request[PHASE + n];
      const [left, right] = [place(panel.loads[load], t), place(panel.loads[load], t + took)].map((x) => Math.min(1, Math.max(0, x)));
      t += took;
      if (n < first || took <= 0 || right <= left) return [];
      const bar = make("i", `${n ? "" : "thin"}${lane(panel, load)}`);
      bar.style.left = `${labels(panel) + left * wide}px`; bar.style.width = `${Math.max(1, (right - left) * wide)}px`; bar.style.background = data.colours[n];
      bar.style.opacity = strength(panel, load);
      return [bar];
    });
  }

  function short(request, load) {
    const [path, query] = request[URL_].split(/\?(.*)/s), parts = path.split("/");
    const name = (parts.slice(3).filter(Boolean).pop() ?? "/") + (query ? `?${query}` : "");
    return host(request[URL_]) === host(load.requests[0][URL_]) ? name : `${host(request[URL_])} ${name}`;
  }

  function tell(panel, number) {
    const row = panel.rows[number];
    if (!row) return;
    if (row.connection !== undefined) { at("told").textContent = tellConnection(panel, row, number); return; }
    const both = row.filter(Boolean), [request] = both;
    const parts = [`${number + 1} of ${panel.rows.length}`, request[METHOD], request[URL_]];
    const told = both.map((each, n) => (row.length > 1 ? `${row.indexOf(each) ? "second" : "first"}: ` : "") + answer(each).join(" \u00b7 "));
    at("told").textContent = [...parts, ...told, ...(notes.get(request) ?? [])].join(" \u00b7 ");
  }

  function tellConnection(panel, row, number) {
    const hosts = [...new Set(row.map((each) => host(each[URL_])))], first = Math.min(...row.map((each) => each[START])), last = Math.max(...row.map(end));
    const parts = [`${number + 1} of ${panel.rows.length}`, `connection ${row.connection}`, row[0][PROTOCOL], `${row.length} request${row.length > 1 ? "s" : ""} of ${hosts.join(", ")}`, `from ${ms(first)} to ${ms(last)}`];
    return parts.filter(Boolean).join(" \u00b7 ");
  }

  function answer(request) {
    const took = data.phases.map((name, n) => request[PHASE + n] ? `${name} ${ms(request[PHASE + n])}` : "").filter(Boolean).join(", ");
    const parts = [request[FLAGS] & CACHED ? "from the cache" : request[STATUS] || "no answer", kb(request[BYTES]), request[PROTOCOL],
      request[CONNECTION] && `connection ${request[CONNECTION]}`, request[PRIORITY], `from ${ms(request[START])} to ${ms(end(request))}`, took];
    return parts.filter(Boolean);
  }

  function choose(panel, number) {
    panel.chosen = Math.min(panel.rows.length - 1, Math.max(0, number));
    const top = panel.chosen * ROW, high = panel.element.clientHeight;
    if (top < panel.element.scrollTop) panel.element.scrollTop = top;
    else if (top + 2 * ROW > panel.element.scrollTop + high) panel.element.scrollTop = top + 2 * ROW - high;
    draw(panel); tell(panel, panel.chosen);
    const row = panel.rows[panel.chosen];
    if (row?.connection !== undefined) see(loads.indexOf(panel.loads[0]), Math.max(...row.map(end)));
    else row?.forEach((each, n) => { if (each) see(loads.indexOf(panel.loads[n]), end(each)); });
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
    return number >= 0 && number < panel.rows.length ? number : -1;
  };
  function follow(event) {  // the pointer, along the time
    const [panel] = panels, x = event.clientX - panel.element.getBoundingClientRect().left - labels(panel);
    const share = x / width(panel), t = view.first + (view.from + share * (view.to - view.from)) * (view.last - view.first);
    const inside = x >= 0 && share <= 1;
    for (const each of root.querySelectorAll(".cursor")) { each.hidden = !inside; each.style.left = `${labels(panel) + x}px`; }
    at("time").textContent = inside ? ms(t).replace("-", "\u2212") : "";
    if (inside) loads.forEach((load, n) => see(n, time(load, share)));
    loads.forEach((load, n) => tellBusy(n, inside ? time(load, share) : NaN));
  }
  function point(panel, event) {
    follow(event);
    const number = under(panel, event);
    if (number >= 0) tell(panel, number);
  }

  for (const name of ["first", "second"]) at(name).addEventListener("change", chooseLoads);
  for (const name of ["type", "host", "align", "layout", "which", "rows"]) at(name).addEventListener("change", refresh);
  for (const name of ["zoom", "pan", "blend"]) at(name).addEventListener("input", zoom);
  addEventListener("resize", zoom);
  root.addEventListener("toggle", zoom, true);  // a part of the page that was folded has no width
  root.hidden = false;
  chooseLoads();
})();
