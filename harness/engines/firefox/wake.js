// The store of alternative services is made by the first request that there is, for which a mapping for testing comes too
// late. So there is one before, to the client's own loopback, where nobody listens.
const channel = Services.io.newChannelFromURI(Services.io.newURI("https://127.0.0.1:44443/"), null,
  Services.scriptSecurityManager.getSystemPrincipal(), null,
  Ci.nsILoadInfo.SEC_ALLOW_CROSS_ORIGIN_SEC_CONTEXT_IS_NULL, Ci.nsIContentPolicy.TYPE_OTHER);
return new Promise((done) => channel.asyncOpen({
  onStartRequest() {}, onDataAvailable() {}, onStopRequest() { done(true); },
  QueryInterface: ChromeUtils.generateQI(["nsIStreamListener", "nsIRequestObserver"]),
}));
