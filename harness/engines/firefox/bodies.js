// Puts the bodies that observe.js kept to their requests, as base64 and without their Content-Encoding: they came to this
// process as they travelled, and the browser's own converters decode them.
const seen = globalThis.coldload;
const read = (what) => { try { return what(); } catch { return null; } };
const bytes = (stream, count) => {
  const reader = Cc["@mozilla.org/binaryinputstream;1"].createInstance(Ci.nsIBinaryInputStream);
  reader.setInputStream(stream);
  return reader.readBytes(count);
};
const decoded = (data, coding, channel) => new Promise((done, failed) => {
  const parts = [];
  const converter = Cc["@mozilla.org/streamConverters;1"].getService(Ci.nsIStreamConverterService)
    .asyncConvertData(coding, "uncompressed", {
      onStartRequest() {},
      onDataAvailable(request, stream, offset, count) { parts.push(bytes(stream, count)); },
      onStopRequest(request, status) { status ? failed(status) : done(parts.join("")); },
      QueryInterface: ChromeUtils.generateQI(["nsIStreamListener", "nsIRequestObserver"]),
    }, null);
  const stream = Cc["@mozilla.org/io/string-input-stream;1"].createInstance(Ci.nsIStringInputStream);
  stream.setByteStringData(data);
  converter.onStartRequest(channel);
  converter.onDataAvailable(channel, stream, 0, data.length);
  converter.onStopRequest(channel, 0);
});
const CODINGS = ["gzip", "deflate", "br", "zstd"];
return (async () => {
  for (const [id, { channel, stream }] of seen.bodies) {
    const said = (read(() => channel.getResponseHeader("Content-Encoding")) ?? "").toLowerCase().split(/\s*,\s*/);
    try {
      let data = bytes(stream, read(() => stream.available()) ?? 0);  // one that is empty and at its end throws
      for (const coding of said.reverse()) if (data && CODINGS.includes(coding)) data = await decoded(data, coding, channel);
      seen.requests.get(id).body = btoa(data);
    } catch {}  // of an answer that ended early there is nothing to tell
  }
  seen.bodies.clear();
})();
