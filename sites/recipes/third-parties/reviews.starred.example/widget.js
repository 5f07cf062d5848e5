// What buyers said, with how long ago they said it.
(function () {
  "use strict";
  var host = "https://reviews.starred.example/";
  var box = document.querySelector("[data-starred]");
  if (!box) return;
  var sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = host + "widget.css";
  document.head.appendChild(sheet);
  fetch(host + "reviews.json").then(function (answer) { return answer.json(); }).then(function (found) {
    found.reviews.forEach(function (review) {
      var entry = document.createElement("figure");
      entry.className = "starred";
      var face = new Image(48, 48);
      face.alt = "";
      face.src = review.face;
      var words = document.createElement("blockquote");
      words.textContent = review.words;
      var by = document.createElement("figcaption");
      by.textContent = "★".repeat(review.stars) + " " + review.by + ", " + moment(review.said).from("2025-07-01T12:00Z");
      entry.append(face, words, by);
      box.appendChild(entry);
    });
  });
})();
