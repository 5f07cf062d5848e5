// Chance and the date are the same at every load. Scripts build URLs of random numbers and of the time. This script,
// the first of every document, gives them the same ones each time: `Math.random`, `crypto.getRandomValues` and
// `crypto.randomUUID` come from a generator with a fixed seed. `Date` starts at the time of the recording when that
// script runs and goes on by what scripts wait for: a timer that fires finds the clock at the time it was set for, a
// frame takes 16 ms. What the network takes, which is never the same twice, passes unnoticed: names made of the time
// are the same in each load, and yet no script waits in vain. (Web Page Replay's clock goes on by a step for every 25
// readings; then timers and clock do not fit together.) The clock goes in steps of 100 ms, so that what comes after one
// frame more or less reads the same (Firefox's resistFingerprinting has steps of that size; pages bear it). It is never
// ahead of the browser's own and at most 30 s behind. A script that asks again within a millisecond, waiting in a loop,
// sees the time pass, in steps of 10 ms. `performance.timeOrigin` is the recording's, all else of `performance` is
// untouched. Workers, and empty documents that scripts make (about:blank, srcdoc), have no such script. It takes its
// element out of the document again, so that the first element and the first script are the page's.
//
// The historical engine (of 2016) has neither `Proxy`, so that an ordinary function stands for `Date`, nor `Crypto`,
// `crypto.randomUUID` and `performance.timeOrigin`, which it goes on without.
//
// sites/rewrite.py takes the white space and the comments out, and puts the two values at the end in.
//
// Without "<" and "&", so that it is good XML, too. A block's last statement has no semicolon. The names are short, as
// every document carries them; a comment tells what they hold. It must run in an engine of 2016 as well.
(function (w, t, s) {  // window, time of the recording (ms), seed

  // Chance. The generator is mulberry32 (Tommy Ettinger, public domain).
  var M = Math,
    r = function () {
      s = s + 0x6D2B79F5 | 0;
      var x = M.imul(s ^ s >>> 15, s | 1);
      x = x + M.imul(x ^ x >>> 7, x | 61) ^ x;
      return ((x ^ x >>> 14) >>> 0) / 4294967296
    };
  if (M.random.coldload) return;  // a fragment of the page, put in: the numbers go on
  r.coldload = 1;
  M.random = r;
  var O = Object,
    C = O.getPrototypeOf(w.crypto),
    g = C.getRandomValues;
  C.getRandomValues = function (a) {
    g.call(this, a);  // refuses what is no array of integers
    for (var b = new Uint8Array(a.buffer, a.byteOffset, a.byteLength), i = b.length; i--;) b[i] = r() * 256;
    return a
  };
  if (C.randomUUID) C.randomUUID = function () {
    return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, function (c) {
      return (c ^ r() * 16 >> c / 4).toString(16)
    })
  };

  // The date. n() is the time now, in ms: t and what scripts waited for, V. It goes in steps of 100 ms, never back
  // (m is what it said last), never ahead of the browser's own clock and at most 30 s behind.
  var D = w.Date,
    N = D.now,  // the browser's own clock
    P = w.performance,
    b = P.now(),  // when this script ran
    l = -1,  // when it was asked last
    o = 0,  // what a script that asks without a break sees pass, in steps of 10 ms,
    m = 0,
    q = 0,  // since it began to
    V = 0,
    X = 0,  // the frame that passed last
    n = function () {
      var e = P.now() - b;
      if (e - l >= 1) {
        V += o;
        o = 0;
        q = e
      }
      l = e;
      o = M.floor((e - q) / 10) * 10;
      V = M.max(V, e - 3e4);
      return m = M.max(m, t + M.floor(V / 100) * 100 + o)
    },
    S = function () {  // Date() without `new`
      return new D(n()).toString()
    },
    F = function (y, o, d, h, i, s, f) {  // Date where there is no Proxy; its length is 7
      var e = new.target;
      return e ? O.setPrototypeOf(new D(...(arguments.length ? arguments : [n()])), e.prototype) : S()
    };
  D.now = n;
  F.prototype = D.prototype;
  O.setPrototypeOf(F, D);
  w.Date = D.prototype.constructor = w.Proxy ? new Proxy(D, {
    apply: S,
    construct: function (d, a, e) {
      return Reflect.construct(d, a.length ? a : [n()], e)
    }
  }) : F;

  // A timer that fires finds the clock at the time it was set for.
  ["setTimeout", "setInterval"].forEach(function (k) {
    var f = w[k];
    w[k] = function (h, d) {
      var a = [].slice.call(arguments),
        j = d > 0 ? +d : 0,
        u = V + j;  // when it is due, and j later the next time
      if (typeof h == "function") a[0] = function () {
        V = M.max(V, u);
        u += j;
        return h.apply(this, arguments)
      };
      return f.apply(w, a)
    }
  });

  // A frame takes 16 ms, however many callbacks it has.
  var A = w.requestAnimationFrame;
  if (A) w.requestAnimationFrame = function (h) {
    return A.call(w, typeof h == "function" ? function (x) {
      if (x != X) {
        X = x;
        V += 16
      }
      return h.call(w, x)
    } : h)
  };
  if ("timeOrigin" in P) O.defineProperty(w.Performance.prototype, "timeOrigin", {
    get: function () {
      return t
    },
    configurable: true
  });

  // A cookie lasts as long as it did: its end is moved by what lies between this date and the browser's own.
  var k = O.getOwnPropertyDescriptor(w.Document.prototype, "cookie"),
    K = k.set;
  k.set = function (v) {
    K.call(this, (v + "").replace(/(;\s*expires=)([^;]+)/i, function (a, e, d) {
      d = D.parse(d) + N() - n();
      return d ? e + new D(d).toUTCString() : a
    }))
  };
  O.defineProperty(w.Document.prototype, "cookie", k);

  // The element goes: React's `hydrateRoot(document)` compares the whole document with what the page sent, and scripts
  // look for `document.scripts[0]`. Anywhere else than first in the head it is jQuery's, which takes it out itself.
  var H = w.document,
    E = H.currentScript;
  if (E) if (E == H.head.firstChild) E.remove()
})(window, RECORDED_MS, SEED)
