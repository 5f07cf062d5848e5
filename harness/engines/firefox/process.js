// Gives the empty tab a process of the page's site, so that the load does not begin by starting one. `arguments[0]` is the
// page's address, which nothing asks for here.
const [url] = arguments;
const window = Services.wm.getMostRecentBrowserWindow();
const browser = window.gBrowser.selectedBrowser;
const remoteType = ChromeUtils.predictRemoteTypeForURI(url, { window });
window.gBrowser.updateBrowserRemoteness(browser, { remoteType, newFrameloader: true });
const timer = Cc["@mozilla.org/timer;1"].createInstance(Ci.nsITimer);
return new Promise((done) => timer.initWithCallback(() => {
  const shown = browser.browsingContext?.currentWindowGlobal;
  if (shown?.domProcess?.remoteType !== remoteType || !(shown.osPid > 0)) return;
  timer.cancel();
  done();
}, 2, Ci.nsITimer.TYPE_REPEATING_SLACK));
