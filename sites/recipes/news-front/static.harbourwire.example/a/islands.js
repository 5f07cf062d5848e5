// The parts of the page that change by the minute: each is drawn in its own place, from its own answer.
(function (React, ReactDOM) {
  "use strict";
  var e = React.createElement;
  var api = "https://api.harbourwire.example/v1/";
  function useAnswer(name) {
    var state = React.useState(null);
    React.useEffect(function () {
      fetch(api + name + ".json").then(function (answer) { return answer.json(); }).then(state[1]);
    }, [name]);
    return state[0];
  }
  function MostRead() {
    var found = useAnswer("most-read");
    return e(React.Fragment, null, e("h2", null, "Most read"),
      e("ol", null, (found ? found.stories : []).map(function (story) {
        return e("li", { key: story.url }, e("a", { href: story.url }, story.title));
      })));
  }
  function Weather() {
    var found = useAnswer("weather");
    if (!found) return null;
    return e("div", null, e("b", null, found.town), ": " + found.degrees + "°, " + found.words, e("br"), "Water " + found.water_cm + " cm");
  }
  function Ticker() {
    var found = useAnswer("ticker");
    return e(React.Fragment, null, e("b", null, "Now"), (found ? found.lines : []).map(function (line) {
      return e("span", { key: line }, line);
    }));
  }
  function Freight() {
    var found = useAnswer("freight");
    React.useEffect(function () {
      if (!found) return;
      var script = document.createElement("script");
      script.src = "https://static.harbourwire.example/a/chart.js";
      script.onload = function () { window.drawFreight(document.getElementById("freight"), found); };
      document.body.appendChild(script);
    }, [found]);
    return null;
  }
  var places = { "most-read": MostRead, weather: Weather, ticker: Ticker };
  Object.keys(places).forEach(function (id) {
    ReactDOM.createRoot(document.getElementById(id)).render(e(places[id]));
  });
  ReactDOM.createRoot(document.createElement("div")).render(e(Freight));
})(window.React, window.ReactDOM);
