// Counts visits: a pixel at once, the page's vital signs and the time of reading later, as beacons.
(function (vitals) {
  "use strict";
  var host = "https://metrics.tallyhouse.example/";
  var queue = [];
  function pixel(name) {
    new Image().src = host + name + ".gif";
  }
  function send() {
    if (queue.length) navigator.sendBeacon(host + "collect", JSON.stringify(queue.splice(0)));
  }
  function note(metric) {
    queue.push({ name: metric.name, value: Math.round(metric.value) });
  }
  vitals.onTTFB(note);
  vitals.onFCP(note);
  vitals.onLCP(note, { reportAllChanges: true });
  vitals.onCLS(note, { reportAllChanges: true });
  pixel("visit");
  addEventListener("load", function () {
    setTimeout(send, 500);
    setTimeout(function () { pixel("read-1s"); }, 1000);
  });
  addEventListener("pagehide", send);
})(window.webVitals);
