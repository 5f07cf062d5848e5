// Has a script run in each document of a page before the page's own, and with no more rights than these have: in all
// processes that hold pages, now and later. `arguments[0]` is the script.
const [script] = arguments;
const inPages = `{
  const { addSandboxedDebuggerToGlobal } = ChromeUtils.importESModule("resource://gre/modules/jsdebugger.sys.mjs");
  addSandboxedDebuggerToGlobal(globalThis);
  const runner = new Debugger(), script = ${JSON.stringify(script)};
  Services.obs.addObserver((window) => {
    if (Cu.getObjectPrincipal(window).isContentPrincipal) runner.makeGlobalObjectReference(window).executeInGlobal(script);
  }, "content-document-global-created");
}`;
Services.ppmm.loadProcessScript(`data:application/javascript;charset=utf-8,${encodeURIComponent(inPages)}`, true);
