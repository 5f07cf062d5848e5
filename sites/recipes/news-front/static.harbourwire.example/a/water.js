// The water at the lock in the last day, drawn from what the gauge says.
d3.json("https://api.harbourwire.example/v1/water.json").then(function (found) {
  "use strict";
  var chart = d3.select("#water");
  var x = d3.scaleLinear([0, found.cm.length - 1], [28, 292]);
  var y = d3.scaleLinear(d3.extent(found.cm), [140, 12]).nice();
  var line = d3.line(function (cm, hour) { return x(hour); }, y).curve(d3.curveMonotoneX);
  chart.append("path").attr("fill", "none").attr("stroke", "#0b5c7a").attr("stroke-width", 2).attr("d", line(found.cm));
  chart.append("g").attr("transform", "translate(0,142)").call(d3.axisBottom(x).ticks(6));
  chart.append("g").attr("transform", "translate(28,0)").call(d3.axisLeft(y).ticks(4));
});
