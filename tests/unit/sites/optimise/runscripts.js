// Reads a JSON list of scripts; writes the list of what each said: by log(...), or the error it ended with.
const vm = require("vm");

function said(source) {
  const lines = [];
  const log = (...values) => lines.push(values.map((each) =>
    `${typeof each} ${Object.is(each, -0) ? "-0" : String(each)}`).join(", "));
  try {
    vm.runInContext(source, vm.createContext({ log }));
  } catch (error) {
    lines.push(`${error.name}: ${error.message}`);
  }
  return lines.join("\n");
}

console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0, "utf8")).map(said)));
