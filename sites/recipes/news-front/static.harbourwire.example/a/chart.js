window.drawFreight = function (canvas, found) {
  "use strict";
  new Chart(canvas, {
    type: "line",
    data: { labels: found.weeks, datasets: [{ label: "per ton", data: found.rates, borderColor: "#0b5c7a", tension: 0.3 }] },
    options: { animation: false, responsive: false, plugins: { legend: { display: false } } },
  });
};
