// Records what a visitor does and sees: a picture of the page once it has loaded, then what changes.
(function (record) {
  "use strict";
  var host = "https://replay.lookback.example/";
  var events = [];
  addEventListener("load", function () {
    fetch(host + "settings.json")
      .then(function (answer) { return answer.json(); })
      .then(function (settings) {
        record({ emit: function (event) { events.push(event); }, sampling: settings.sampling });
        setTimeout(function () {
          fetch(host + "events", { method: "POST", body: JSON.stringify(events.slice(0, settings.first)) });
        }, settings.after_ms);
      });
  });
})(window.rrwebRecord);
