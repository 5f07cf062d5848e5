// Stories that readers of this one opened, with pictures that are loaded when they come near.
(function (_) {
  "use strict";
  var host = "https://widgets.related.example/v1/";
  var box = document.querySelector("[data-related]");
  if (!box) return;
  var sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = host + "related.css";
  document.head.appendChild(sheet);
  var card = _.template(
    '<a class="related-card" href="<%- url %>"><img loading="lazy" width="300" height="200" src="<%- image %>" alt="">' +
      "<b><%- title %></b><span><%- from %></span></a>"
  );
  fetch(host + "related.json")
    .then(function (answer) { return answer.json(); })
    .then(function (found) {
      box.innerHTML = '<h2 class="related-title">You may like</h2>' + _.orderBy(found.stories, "weight", "desc").map(card).join("");
    });
})(window._.noConflict());
