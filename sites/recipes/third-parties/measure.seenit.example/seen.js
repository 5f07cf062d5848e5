// Whether an advertisement was on the screen for a second.
(function () {
  "use strict";
  var since = null;
  new IntersectionObserver(
    function (entries, observer) {
      var whole = entries.some(function (entry) { return entry.intersectionRatio >= 0.5; });
      clearTimeout(since);
      if (whole)
        since = setTimeout(function () {
          observer.disconnect();
          new Image().src = "https://measure.seenit.example/seen.gif";
        }, 1000);
    },
    { threshold: [0, 0.5, 1] }
  ).observe(document.body);
})();
