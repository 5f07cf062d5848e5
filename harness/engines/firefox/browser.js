// Runs in the browser's own process, which no page reaches.
const read = (what) => { try { return what() ?? null; } catch { return null; } };
const tab = () => Services.wm.getMostRecentBrowserWindow()?.gBrowser.selectedBrowser;
const timers = globalThis.coldloadTimers ??= new Set();  // one that nobody holds may be collected before it fires
const until = (so) => new Promise((done) => {
  const timer = Cc["@mozilla.org/timer;1"].createInstance(Ci.nsITimer);
  timers.add(timer);
  const look = () => { if (so()) { timer.cancel(); timers.delete(timer); done(); } };
  timer.initWithCallback(look, 2, Ci.nsITimer.TYPE_REPEATING_SLACK);
});

// The store of alternative services is made by the first request that there is, for which a mapping for testing comes
// too late. So there is one before, to the client's own loopback, where nobody listens.
function wake() {
  const channel = Services.io.newChannelFromURI(Services.io.newURI("https://127.0.0.1:44443/"), null,
    Services.scriptSecurityManager.getSystemPrincipal(), null,
    Ci.nsILoadInfo.SEC_ALLOW_CROSS_ORIGIN_SEC_CONTEXT_IS_NULL, Ci.nsIContentPolicy.TYPE_OTHER);
  return new Promise((done) => channel.asyncOpen({
    onStartRequest() {}, onDataAvailable() {}, onStopRequest() { done(true); },
    QueryInterface: ChromeUtils.generateQI(["nsIStreamListener", "nsIRequestObserver"]),
  }));
}

// Gives the empty tab a process of the page's site, so that the load does not begin by starting one. Nothing asks for
// the page's address here.
function startProcess(url) {
  const window = Services.wm.getMostRecentBrowserWindow();
  const browser = window.gBrowser.selectedBrowser;
  const remoteType = ChromeUtils.predictRemoteTypeForURI(url, { window });
  window.gBrowser.updateBrowserRemoteness(browser, { remoteType, newFrameloader: true });
  return until(() => {
    const shown = browser.browsingContext?.currentWindowGlobal;
    return shown?.domProcess?.remoteType === remoteType && shown.osPid > 0;
  });
}

// Has a script run in each document of a page before the page's own, and with no more rights than these have: in all
// processes that hold pages, now and later.
function hold(script) {
  const inPages = `{
    const { addSandboxedDebuggerToGlobal } = ChromeUtils.importESModule("resource://gre/modules/jsdebugger.sys.mjs");
    addSandboxedDebuggerToGlobal(globalThis);
    const runner = new Debugger(), script = ${JSON.stringify(script)};
    Services.obs.addObserver((window) => {
      if (Cu.getObjectPrincipal(window).isContentPrincipal) runner.makeGlobalObjectReference(window).executeInGlobal(script);
    }, "content-document-global-created");
  }`;
  Services.ppmm.loadProcessScript(`data:application/javascript;charset=utf-8,${encodeURIComponent(inPages)}`, true);
}

// Keeps every HTTP request with its connection and its times (us since 1970), the errors that scripts leave, processes
// of pages that went, and how often the page went to another place in itself (`hops`). Dialogs are cancelled.
// `proxies`: by scheme, the port of loopback where a SOCKS proxy takes what is asked for under it; `bodies`: whether
// these are kept, too.
function observe(proxies, bodies) {
  const seen = globalThis.coldload = { requests: new Map(), bodies: new Map(), gone: [], errors: [], error: null, dialogs: 0, hops: 0 };
  const pairs = (visit) => { const found = []; read(() => visit((name, value) => found.push([name, value]))); return found; };
  const PHASES = ["asyncOpen", "domainLookupStart", "domainLookupEnd", "connectStart", "tcpConnectEnd",
    "secureConnectionStart", "connectEnd", "requestStart", "responseStart", "responseEnd"];
  const note = (channel, topic) => {
    if (!(channel instanceof Ci.nsIHttpChannel)) return;  // what the browser opens of its own files can fail, too
    channel.QueryInterface(Ci.nsIHttpChannelInternal);
    channel.QueryInterface(Ci.nsITimedChannel);
    const info = channel.loadInfo;
    const told = seen.requests.get(channel.channelId) ?? { topics: [] };
    seen.requests.set(channel.channelId, told);
    told.topics.push(topic);
    if (topic === "opening-request") told.opening ??= Date.now() * 1000;  // asyncOpen comes later, and is read with an answer
    told.url = channel.URI.spec;
    told.method = channel.requestMethod;
    told.kind = read(() => info.externalContentPolicyType);
    told.system = read(() => info.triggeringPrincipal.isSystemPrincipal);
    told.asked_by = read(() => info.triggeringPrincipal.originNoSuffix);
    told.redirected_from = read(() => info.redirectChain.length ? [...info.redirectChain].at(-1).principal.spec : null);
    const last = (name, what) => { const value = read(what); if (value !== null) told[name] = value; };
    last("status", () => channel.responseStatus);
    if (topic === "stop-request") told.stopped = Date.now() * 1000;  // what got no answer has no other end
    if (topic === "examine-response") told.came_with = told.status;  // what the cache has may take its place
    last("status_text", () => channel.responseStatusText);
    last("protocol", () => channel.protocolVersion);
    last("local", () => channel.localPort ? `${channel.localAddress}:${channel.localPort}` : null);
    const proxy = read(() => channel.QueryInterface(Ci.nsIProxiedChannel).proxyInfo);
    last("remote", () => proxy && proxy.type !== "direct" ? `${proxy.host}:${proxy.port}`
      : channel.remotePort ? `${channel.remoteAddress}:${channel.remotePort}` : null);
    const tls = read(() => channel.securityInfo?.protocolVersion ?? null);  // none of a handshake that failed
    if (tls !== null) { told.tls = tls; told.resumed = channel.securityInfo.resumed; }
    told.result = channel.status;
    told.error = channel.status ? read(() => ChromeUtils.getXPCOMErrorName(channel.status)) : null;
    told.encoded_bytes = read(() => channel.encodedBodySize);
    last("mime", () => channel.contentType);
    for (const phase of PHASES) told[phase] = read(() => channel[`${phase}Time`]);
    if (topic !== "opening-request") {
      const asked = pairs((each) => channel.visitRequestHeaders({ visitHeader: each, QueryInterface: ChromeUtils.generateQI(["nsIHttpHeaderVisitor"]) }));
      if (asked.length) told.asked_with = asked;
      const answered = pairs((each) => channel.visitResponseHeaders({ visitHeader: each, QueryInterface: ChromeUtils.generateQI(["nsIHttpHeaderVisitor"]) }));
      if (answered.length) told.answered_with = answered;
    }
  };
  const keepBody = (channel) => {
    if (read(() => channel.getResponseHeader("Location")) !== null) return;  // the next channel inherits who listens
    const pipe = Cc["@mozilla.org/pipe;1"].createInstance(Ci.nsIPipe);
    pipe.init(true, true, 1 << 16, 0xffffffff);
    const tee = Cc["@mozilla.org/network/stream-listener-tee;1"].createInstance(Ci.nsIStreamListenerTee);
    tee.init(channel.QueryInterface(Ci.nsITraceableChannel).setNewListener(tee), pipe.outputStream);
    seen.bodies.set(channel.channelId, { channel, stream: pipe.inputStream });
  };
  seen.observer = {
    observe(subject, topic) {
      try {
        if (topic.startsWith("http-on-")) note(subject, topic.slice("http-on-".length));
        if (topic === "http-on-examine-response" && bodies) keepBody(subject);
        if (topic === "ipc:content-shutdown") {
          const bag = subject.QueryInterface(Ci.nsIPropertyBag2);
          if (read(() => bag.getProperty("abnormal"))) seen.gone.push(read(() => bag.getProperty("osPid")) ?? 0);
        } else if (topic === "common-dialog-loaded") {
          seen.dialogs += 1;
          const Dialog = read(() => subject.wrappedJSObject?.Dialog ?? subject.Dialog);
          // Once it has loaded; Marionette may have answered it by then. An alert has that button, too, unseen.
          read(() => Services.tm.dispatchToMainThread(() => read(() => Dialog.ui.button1.click())));
        }
      } catch (error) { seen.error ??= `${topic}: ${error}`; }
    },
    QueryInterface: ChromeUtils.generateQI(["nsIObserver"]),
  };
  for (const topic of ["http-on-opening-request", "http-on-examine-response", "http-on-examine-cached-response",
    "http-on-examine-merged-response", "http-on-stop-request", "http-on-failed-opening-request",
    "ipc:content-shutdown", "common-dialog-loaded"]) Services.obs.addObserver(seen.observer, topic);
  seen.listener = {
    observe(message) {
      const told = read(() => message.QueryInterface(Ci.nsIScriptError));
      if (!told || told.category !== "content javascript" || told.flags & Ci.nsIScriptError.warningFlag) return;
      if (seen.errors.length < 1000) seen.errors.push(`uncaught ${told.errorMessage}`);
    },
    QueryInterface: ChromeUtils.generateQI(["nsIConsoleListener"]),
  };
  Services.console.registerListener(seen.listener);
  seen.places = {
    onLocationChange(browser, progress, request, location, flags) {
      if (progress.isTopLevel && flags & Ci.nsIWebProgressListener.LOCATION_CHANGE_SAME_DOCUMENT) seen.hops += 1;
    },
  };
  Services.wm.getMostRecentBrowserWindow().gBrowser.addTabsProgressListener(seen.places);
  if (Object.keys(proxies).length) {
    const service = Cc["@mozilla.org/network/protocol-proxy-service;1"].getService(Ci.nsIProtocolProxyService);
    seen.filter = {
      applyFilter(channel, proxy, done) {
        const port = proxies[channel.URI.scheme];
        const resolves = Ci.nsIProxyInfo.TRANSPARENT_PROXY_RESOLVES_HOST;
        done.onProxyFilterResult(port ? service.newProxyInfo("socks", "127.0.0.1", port, "", "", resolves, 0, null) : proxy);
      },
      QueryInterface: ChromeUtils.generateQI(["nsIProtocolProxyChannelFilter"]),
    };
    service.registerChannelFilter(seen.filter, 0);
  }
}

// Processes of pages that went, and when the document of a channel was asked for (us since 1970).
function shown(channel) {
  const { requests, gone } = globalThis.coldload;
  return { gone, asked: requests.get(channel)?.asyncOpen ?? null };
}

// Whether the tab loads nothing any more, or a process of it has gone: once that is so, or the time is over. No page is
// asked.
function rested(limitMs) {
  const end = Date.now() + limitMs, rests = () => globalThis.coldload.gone.length > 0 || !tab().webProgress.isLoadingDocument;
  return until(() => rests() || Date.now() >= end).then(rests);
}

// Processes of pages that went, dialogs, hops, and the address that the tab shows: soon told, whatever was loaded.
function state() {
  const { gone, dialogs, hops } = globalThis.coldload;
  return { gone, dialogs, hops, shows: tab()?.currentURI.spec ?? null };
}

// What was kept, as JSON, with the state and the browser's version.
function told() {
  const { requests, errors, error } = globalThis.coldload;
  return JSON.stringify({
    ...state(), requests: [...requests.values()], errors, error, version: Services.appinfo.version,
  });
}

// Puts the bodies that were kept to their requests, as base64 and without their Content-Encoding: they came to this
// process as they travelled, and the browser's own converters decode them.
function addBodies() {
  const seen = globalThis.coldload;
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
}
