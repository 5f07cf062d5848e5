// The keyboard on the pages of a run: arrow keys from row to row, keys of single letters for links that name one.
(() => {
  "use strict";
  const typing = (target) => target.closest("input:not([type=checkbox]), select, textarea, .waterfall") !== null;
  const links = (place) => [...place.querySelectorAll("tbody tr")].map((row) => row.querySelector("a.row-link, a")).filter(Boolean);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || typing(event.target)) return;
    const rows = event.target.closest("table[data-rows]") ?? event.target.querySelector?.("table[data-rows]");
    if (rows && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      const all = links(rows), row = event.target.closest("tr"), now = all.findIndex((each) => each.closest("tr") === row);
      const next = all[now < 0 ? 0 : Math.min(all.length - 1, Math.max(0, now + (event.key === "ArrowDown" ? 1 : -1)))];
      if (next) { event.preventDefault(); next.focus(); }
      return;
    }
    const link = /^[a-z]$/.test(event.key) ? document.querySelector(`a[data-key="${event.key}"]`) : null;
    if (link) link.click();
  });
})();
