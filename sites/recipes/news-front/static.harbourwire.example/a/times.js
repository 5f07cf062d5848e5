// How long ago a story was told, in words, from the hour at which this page was made.
document.querySelectorAll("time[datetime]").forEach(function (shown) {
  "use strict";
  shown.textContent = moment(shown.getAttribute("datetime")).from("2025-07-01T12:00Z");
});
