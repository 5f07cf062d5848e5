// What observe.js kept, as JSON, with the browser's version.
const seen = globalThis.coldload, { gone, errors, error } = seen;
return JSON.stringify({ requests: [...seen.requests.values()], gone, errors, error, version: Services.appinfo.version });
