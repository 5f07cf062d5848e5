// How many of the shop's people are there.
var people = Vue.reactive({ there: 0 });
Vue.watchEffect(function () {
  document.getElementById("open").dataset.waiting = people.there;
});
fetch("people.json")
  .then(function (answer) { return answer.json(); })
  .then(function (found) { people.there = found.there.length; });
