// Keeps the errors of a page's scripts, and tells them.
(function () {
  "use strict";
  var host = "https://errors.faultline.example/";
  var kept = [];
  function keep(error) {
    kept.push({ what: String(error && error.message), where: String(error && error.stack) });
  }
  addEventListener("error", function (event) { keep(event.error); });
  addEventListener("unhandledrejection", function (event) { keep(event.reason); });
  addEventListener("load", function () {
    navigator.sendBeacon(host + "session", JSON.stringify({ errors: kept.length }));
  });
})();
