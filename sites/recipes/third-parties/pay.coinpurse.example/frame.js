(function (React, ReactDOM) {
  "use strict";
  var e = React.createElement;
  function Pay() {
    var state = React.useState([]);
    React.useEffect(function () {
      fetch("methods.json").then(function (answer) { return answer.json(); }).then(function (found) { state[1](found.methods); });
    }, []);
    return e("div", null, e("button", null, "Pay with Coinpurse"), e("ul", null, state[0].map(function (name) {
      return e("li", { key: name }, name);
    })));
  }
  ReactDOM.createRoot(document.getElementById("pay")).render(e(Pay));
})(window.React, window.ReactDOM);
