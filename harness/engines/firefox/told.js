// What observe.js kept, as JSON, with the address that the tab shows and the browser's version.
const { requests, gone, errors, error, dialogs } = globalThis.coldload;
const shows = Services.wm.getMostRecentBrowserWindow()?.gBrowser.selectedBrowser.currentURI.spec;
return JSON.stringify({
  requests: [...requests.values()], gone, errors, error, dialogs, shows, version: Services.appinfo.version,
});
