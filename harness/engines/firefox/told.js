// What observe.js kept, as JSON.
const seen = globalThis.coldload;
return JSON.stringify({ requests: [...seen.requests.values()], gone: seen.gone, errors: seen.errors, error: seen.error });
