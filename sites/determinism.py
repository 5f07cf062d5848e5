"""Documents in which chance and the date are the same at every load. Pure.

Scripts build URLs of random numbers and of the time. A small script, the first of every document, gives them
the same ones each time: `Math.random`, `crypto.getRandomValues` and `crypto.randomUUID` come from a generator with
a fixed seed. `Date` starts at the time of the recording when that script runs and goes on by what scripts wait for: a
timer that fires finds the clock at the time it was set for, a frame takes 16 ms. What the network takes, which is
never the same twice, passes unnoticed: names made of the time are the same in each load, and yet no script waits in
vain. (Web Page Replay's clock goes on by a step for every 25 readings; then timers and clock do not fit together.) The
clock goes in steps of 100 ms, so that what comes after one frame more or less reads the same (Firefox's
resistFingerprinting has steps of that size; pages bear it). It is never ahead of the browser's own and at most 30 s
behind. A script that asks again within a millisecond, waiting in a loop, sees the time pass, in steps of 10 ms.
`performance.timeOrigin` is the recording's, all else of `performance` is untouched. Workers, and empty documents that
scripts make (about:blank, srcdoc), have no such script.

The historical engine (of 2016) has neither `Proxy`, so that an ordinary function stands for `Date`, nor `Crypto`,
`crypto.randomUUID` and `performance.timeOrigin`, which it goes on without.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from datetime import datetime

UNDATED_MS = 1_704_067_200_000  # 2024-01-01: for an archive that does not know when it was recorded
PRESCAN_BYTES = 1024  # where browsers look for <meta charset>
# Without "<" and "&", so that it is good XML, too. The generator is mulberry32 (Tommy Ettinger, public domain).
_SCRIPT = """<script>(function(w,t,s){var M=Math,r=function(){s=s+0x6D2B79F5|0;\
var x=M.imul(s^s>>>15,s|1);x=x+M.imul(x^x>>>7,x|61)^x;return((x^x>>>14)>>>0)/4294967296};\
if(M.random.coldload)return;r.coldload=1;M.random=r;\
var O=Object,C=O.getPrototypeOf(w.crypto),g=C.getRandomValues;C.getRandomValues=function(a){g.call(this,a);\
for(var b=new Uint8Array(a.buffer,a.byteOffset,a.byteLength),i=b.length;i--;)b[i]=r()*256;return a};\
if(C.randomUUID)C.randomUUID=function(){return"10000000-1000-4000-8000-100000000000".replace(/[018]/g,\
function(c){return(c^r()*16>>c/4).toString(16)})};\
var D=w.Date,N=D.now,P=w.performance,b=P.now(),l=-1,o=0,m=0,q=0,V=0,X=0,\
n=function(){var e=P.now()-b;if(e-l>=1){V+=o;o=0;q=e}l=e;o=M.floor((e-q)/10)*10;V=M.max(V,e-3e4);\
return m=M.max(m,t+M.floor(V/100)*100+o)},S=function(){return new D(n()).toString()},F=function(y,o,d,h,i,s,f){\
var e=new.target;return e?O.setPrototypeOf(new D(...(arguments.length?arguments:[n()])),e.prototype):S()};\
D.now=n;F.prototype=D.prototype;O.setPrototypeOf(F,D);w.Date=D.prototype.constructor=w.Proxy?new Proxy(D,{apply:S,\
construct:function(d,a,e){return Reflect.construct(d,a.length?a:[n()],e)}}):F;\
["setTimeout","setInterval"].forEach(function(k){var f=w[k];w[k]=function(h,d){var a=[].slice.call(arguments),\
j=d>0?+d:0,u=V+j;if(typeof h=="function")a[0]=function(){V=M.max(V,u);u+=j;return h.apply(this,arguments)};\
return f.apply(w,a)}});\
var A=w.requestAnimationFrame;if(A)w.requestAnimationFrame=function(h){return A.call(w,typeof h=="function"?\
function(x){if(x!=X){X=x;V+=16}return h.call(w,x)}:h)};\
if("timeOrigin"in P)O.defineProperty(w.Performance.prototype,"timeOrigin",\
{get:function(){return t},configurable:true});\
var k=O.getOwnPropertyDescriptor(w.Document.prototype,"cookie"),K=k.set;k.set=function(v){\
K.call(this,(v+"").replace(/(;\\s*expires=)([^;]+)/i,function(a,e,d){d=D.parse(d)+N()-n();\
return d?e+new D(d).toUTCString():a}))};O.defineProperty(w.Document.prototype,"cookie",k)\
})(window,%d,%d)</script>"""
_SEED = 2012

_MISC = r"(?:\s|<!--(?:-?>|.*?--!?>)|<\?[^>]*>)*+"
_ATTRIBUTES = r"""(?:\s(?:[^>"']|"[^"]*"|'[^']*')*+)?>"""
_PROLOGUE = re.compile(
    rf"(?is)(?:\ufeff|\xef\xbb\xbf)?{_MISC}(?:<!doctype[^>]*>{_MISC})?(?:<html{_ATTRIBUTES}{_MISC})?(?:<head{_ATTRIBUTES})?"
)
_HEAD_CONTENT = re.compile(r"(?i)<(?:base|body|frameset|link|meta|noscript|script|style|title)[\s/>]")
_CHARSET = re.compile(r"(?i)<meta\s[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:+-]+)")
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True)
class Pinned:
    """A document with the script; `charset` is what the script pushed out of the browser's sight, else None."""

    body: bytes
    charset: str | None


def script(recorded: datetime | None) -> str:
    """The script element for an archive recorded at that time."""
    return _SCRIPT % (round(recorded.timestamp() * 1000) if recorded else UNDATED_MS, _SEED)


def pin(document: bytes, element: str, *, xml: bool) -> Pinned | None:
    """The document with `element` before all its other scripts; None when it does not look like a document.

    The place is right after <head>, <html> or the document type, whichever is last, so that nothing changes about
    how the rest is parsed. XML documents need a <head>.
    """
    encoding = next((name for mark, name in _WIDE.items() if document.startswith(mark)), "latin-1")
    text = document.decode(encoding, "surrogatepass" if encoding != "latin-1" else "strict")
    prologue = _PROLOGUE.match(text)
    at = prologue.end() if prologue else 0
    before = text[:at].lower()
    found = any(mark in before for mark in ("<head", "<html", "<!doctype")) or _HEAD_CONTENT.match(text, at)
    if not found or (xml and not before.rpartition("<")[2].startswith("head")):
        return None
    declared = _CHARSET.search(text[:PRESCAN_BYTES]) if encoding == "latin-1" else None
    pushed_out = declared is not None and declared.end() + len(element) > PRESCAN_BYTES
    body = (text[:at] + element + text[at:]).encode(
        encoding, "surrogatepass" if encoding != "latin-1" else "strict"
    )
    return Pinned(body, declared[1].lower() if declared and pushed_out else None)
