// What the page has written to its console as errors, in its own process with the browser's rights.
const storage = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage);
const own = window.windowGlobalChild.innerWindowId;
return storage.getEvents(own).filter((each) => each.level === "error").slice(0, 1000)
  .map((each) => Array.from(each.arguments, (part) => typeof part === "object" && part !== null ? "[object]" : String(part)).join(" "));
