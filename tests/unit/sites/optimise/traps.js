// Scripts on which minifiers go wrong. Each is run before and after; a line that begins with //= names the next one.
//= trunc
log(Math.trunc(3e9), Math.trunc(NaN), Math.trunc(-0.5), Math.trunc('7.9'))
//= abs string
var s='-5', n=null, u; log(Math.abs(s), typeof Math.abs('5'), Math.abs(n), Math.abs(u), 1/Math.abs(-0)); var x='5'; log(typeof Math.abs(x))
//= sqrt
log(Math.sqrt(-Infinity), 1/Math.sqrt(-0), Math.sqrt(2))
//= pow
log(Math.pow(2,10), Math.pow('2',3), -Math.pow(2,2), Math.pow(-2,2), Math.pow.apply(null,[2,3]))
//= pow order
log(Math.pow(2,Math.pow(2,3)), Math.pow(Math.pow(2,3),2), Math['pow'](2,3))
//= patched Math
Math.trunc=function(x){return 'mine'}; Math.pow=function(){return 'p'}; log(Math.trunc(1.5), Math.pow(1,2))
//= local Math
(function(Math){log(Math.pow(1,2))})({pow:function(){return 'own'}})
//= math in strings
log('Math.pow(a,b)', "x Math", /Math/.source, `Math ${'Math'}`)
//= octal concat
log('\1'+'2', '\0'+'1', 1)
//= nul digits
log('\x001', '\u00001', '\0'+'\x31', '\x00'+'1')
//= surrogates
log('\ud83d'+'\ude00', '\ud83d'.length, '\ude00'.charCodeAt(0))
//= u2028
log('a\u2028b'.length, /\u2028/.test('\u2028'))
//= directive quotes
(function(){'use "x"'; log(1)})()
//= strict not added
var a = 1; 'use strict'; undeclared = 2; log(undeclared, (function(){return this===undefined})())
//= strict kept
'use strict'; try { undeclared2 = 2 } catch (e) { log(e.name) }
//= strict after comment
/* c */ // d
'use strict'; try { undeclared3 = 2 } catch (e) { log(e.name) }
//= fn strict
(function(){ 'use strict'; log(this === undefined) })()
//= with
var o={undefined:5,NaN:6,Infinity:7,a:1}; with(o){ log(undefined, NaN, Infinity, a); a = 2 } log(o.a)
//= with math
with({Math:{pow:function(){return 'w'}}}) log(Math.pow(1,2))
//= with shorthand
var o={x:1}; with(o){ var x=2 } log(o.x, x)
//= eval local
(function(longName){ eval('log(longName)') })(5)
//= eval var
(function(){ eval('var q=1'); log(q) })()
//= eval hoisting
(function(){ var a=1; eval('a=2'); var b=a; log(b) })()
//= eval unused var
(function(){ var unused=7; log(eval('unused')) })()
//= catch eval
try { throw 3 } catch (err) { eval('log(err)') }
//= catch unused with var
try { throw 3 } catch (e) { var e; log(e) }
//= catch typeof
try { throw 1 } catch (e) { log(typeof e) }
//= catch nested closure
var f; try { throw 1 } catch (e) { f = function(){ return e } } log(f())
//= catch shadow
var e = 'outer'; try { throw 'inner' } catch (e) { log(e) } log(e)
//= catch assign outer
var e='o'; try{throw 1}catch(e){e=2} log(e)
//= catch shadow unused with inner write
var e='o'; try{throw 1}catch(e){(function(){ log(typeof e) })()}
//= fn toString
function f(a, b) { /* keep */ return a + b } log(typeof f.toString(), f.length, f.name)
//= fn toString parse params
var f=function(first, second){}; log(f.toString().match(/\(([^)]*)\)/)[1].replace(/\s/g,''))
//= heredoc
var t=(function(){/*
hello
*/}).toString().match(/\/\*([^]*)\*\//); log(t && t[1])
//= toString native eval
var src=(function(a){return a*2}).toString(); log(eval('('+src+')')(4))
//= html comment open
<!-- hidden
log('after')
//= html comment close
log('a')
--> not run
log('b')
//= html comments both
<!--
log('x')
//-->
//= less not minus
var a=1,b=2; log(a<! --b)
//= decrement gt
var n=3; while (n-- > 0) log(n)
//= decrement gt newline
var n=3
; n-- > 0;log(n)
//= less bang
var x=5; log(1 < !--x)
//= new.target
function F(){ log(new.target === F, typeof new.target) } new F(); F()
//= sourceURL
log(1)
//# sourceURL=foo.js
//# sourceMappingURL=foo.js.map
//= regexp
log(/[/]\/(?:a|b)+\-/.source, 'a-b'.replace(/\-/g,'+'), /[\]\-\/]/.test('-'), /\//.test('/'))
//= regexp source
log(/\a\-\_\@/.source, String(/a\/b/g))
//= regexp vs division
var a=8,g=2,i=1; log(a/g/i, a++/g, (a)/g); if(1)/x/.test('x')&&log('re')
//= regexp in class
log(/[\^a]/.test('^'), /[\^]/.test('^'), /[a\-z]/.test('m'), /[a\-z]/.test('-'))
//= regexp braces
log(/a\{2\}/.test('aa'), /a\{2\}/.test('a{2}'), /\]/.test(']'))
//= regexp lookbehind/named
log('2020-01'.replace(/(?<y>\d+)-(?<m>\d+)/, '$<m>'), /(?<=a)b/.test('ab'))
//= regexp u
log(/\u{1F600}/u.test('\u{1F600}'), /^.$/u.test('\u{1F600}'))
//= template
var x=1; log(`a
${x} \` \${x} ${`n${x}`}`, String.raw`\n\u0041`)
//= tagged identity
function t(s){return s} function g(){return t`a`} log(g()===g())
//= numeric
log(0x1F, 0b11, 0o17, 1e3, .5, 5., 1_000, 0xffffffffffff, 1e21, 123456789012345680000, 0.1e-7, 1.0, 100)
//= numeric precision
log(0.1+0.2, 1.7976931348623157e308, 5e-324, 9007199254740993, 0.30000000000000004, 4294967296)
//= numeric member
log(1..toString(), 1.0.toFixed(1), (1).toFixed(2), 1e3.toFixed(1), 0x10.toString(), 100 .toString())
//= bigint
log(typeof 10n, 0x10n, 10n**2n, Number(100n))
//= Number calls
log(Number('12'), Number('x'), Number(null), Number(true), Number(undefined), Number(0x10), Number(''), new Number(5)+1)
//= unicode ids
var \u0061bc=1; log(abc); var ö=2; log(ö); log({'\u0062':3}.b)
//= keys
var o={'a-b':1,'1':2,'01':3,1e3:4,'0x10':5,'class':6,'__proto__':null,constructor:7, '-1':8}; log(JSON.stringify(o), Object.getPrototypeOf(o)===null)
//= proto shorthand
var __proto__={z:1}; var o={__proto__:__proto__}; log(o.z)
//= index strings
var o={'1':1,'01':2,'1.0':3,'1e3':4,'a b':5,'-1':6,'1000':7, '9007199254740993': 8,'123456789012345678901':9}; log(o['1'],o['01'],o['1.0'],o['1e3'],o['a b'],o['-1'],o['1000'],o['9007199254740993'],o['123456789012345678901'])
//= index strings exp
var o={'1000':1,'1e3':2,'100000':3,'0.5':4,'.5':5,'10000000':6, '0.10':7, '1.50':8}; log(o['1000'],o['1e3'],o['100000'],o['0.5'],o['.5'],o['10000000'],o['0.10'],o['1.50'])
//= key numbers
var o={'1000':1,'0.50':2,'1.0':3,1000:4,0.5:5,0x10:6,'0x10':7,'1e3':8,'+1':9}; log(Object.keys(o).join())
//= ASI
var a=1
var b=2
;(function(){log(a+b)})()
log(a)
++b
log(b)
//= ASI return
function f(){ return
 1 } log(f())
//= ASI let
var let_=1; let
x = 3
log(x)
//= dead if var
if(false){ var dead=1 } log(typeof dead, 'dead' in this)
//= dead if fn
if (false) { function ff(){} } log(typeof ff)
//= dead ternary var
var k = 0; if (!1) { k = 1; var z; } else { k = 2 } log(k, typeof z)
//= after return var
function f(){ return g; var g = 1; } log(f()); function h(){ return k(); function k(){return 4} } log(h())
//= unreachable after throw
function f(){ try { throw 1; var q } catch (e) { q = 5; return q } } log(f(), typeof q)
//= global var
var onlyDeclared; log('onlyDeclared' in this)
//= global var twice
var tw; var tw; tw = 1; log(tw, this.tw)
//= var in for
for (var i=0, n=2; i<n; i++); for (var k in {a:1}) var last=k; log(i,n,k,last)
//= hoist order
log(typeof later); var later = 1; var o = (log('side'), 2); log(later, o)
//= hoist function vs var
var f; function f(){return 1} log(typeof f); var g=1; function g(){} log(typeof g)
//= var init order
var a = f(); var b = 2; function f(){ return typeof b } log(a, b)
//= var hoist destr
var {a, b=2} = {a:1}; var [c,,d=4] = [3]; var {e:{f}} = {e:{f:5}}; log(a,b,c,d,f)
//= let tdz
try { log(t); let t = 1 } catch (e) { log(e.name) }
//= let closure
var fs=[]; for (let i=0;i<3;i++) fs.push(()=>i); log(fs.map(f=>f()).join())
//= const merge
const a=1; let b=a+1; const c=b+1; log(a,b,c)
//= let var merge
let q; var w = 1; q = 2; let r = q; log(q,w,r)
//= block fn
{ function bf(){return 1} } log(typeof bf); if (true) { function bg(){return 2} } log(bg())
//= sloppy block fn else
if (0) function x1(){return 1} else function x1(){return 2}; log(typeof x1)
//= labels
a: for (var i=0;i<3;i++) { for (;;) { if (i==1) break a; continue a } } log(i); b: { log('in'); break b; log('no') }
//= switch
function s(x){ switch(x){ case 1: return 'a'; case 2: { let y='b'; return y } default: return 'd'; case 3: return 'c' } } log(s(1),s(2),s(3),s(4))
//= getters
var o={get a(){return 1}, set a(v){log(v)}, get:2, set:3, async:4, static:5, get 'b c'(){return 6}}; o.a=9; log(o.a,o.get,o.set,o.async,o.static,o['b c'])
//= getter side effect
var c=0; var o={get x(){c++; return 0}}; o.x; o.x, o['x']; void o.x; !o.x; log(c)
//= undeclared ref throws
try { nope; log('no') } catch (e) { log(e.name) } try { typeof nope; log('ok') } catch (e) {}
//= conditions value
var x=5,y=0,z=''; log(x&&true, y||false, x?true:false, !!x, y&&true, z||false, x&&!0, x||!0, x ? y : y, (x,y)?1:2)
//= conditions value 2
var f=function(v){return v&&false}; var g=function(v){return v||true}; var h=function(v){return true&&v}; var k=function(v){return false||v}; log(f(0),f(''),f(3),g(0),g('a'),h('q'),k(null))
//= if to expr
function f(a){ if (a) return 1; else return 2 } function g(a){ if (!a) { return } return a } function h(a,b){ if (a) { if (b) return 1 } else return 3; return 4 } log(f(0),f(1),g(0),g(2),h(1,0),h(0,0),h(1,1))
//= dangling else
function f(a,b){ if(a){ if(b) return 'ab' } else { return 'not a' } return 'a' } log(f(1,1),f(1,0),f(0,1)); if(1){for(;;)if(0)x;else break}else log('x')
//= null checks
var n=null,u,z=0,o={get v(){log('got');return null}}; log(n==null?1:2, u===undefined?1:2, n===undefined?1:2, z==null?1:2, n!=null?n:'d', u!==null&&u!==undefined?u:'e', o.v==null?3:o.v, n===null||n===undefined?'f':n, z!==null?z:1)
//= document.all like
var all=log.all; log(all===undefined, all==null, all===null||all===undefined?'gone':'there', all!=null?'x':'y')
//= optional
var o={f(){return this.x},x:3},n=null; log(o?.f(), n?.f(), n?.[0], o?.['x'], (o?.f)(), n?.a.b.c); try { (n?.a).b } catch (e) { log(e.name) }
//= nullish mix
var a=null,b=0; log(a??'d', b??'d', (a||b)??1, a??(b||2)); a??=5; b||=6; log(a,b)
//= void
log(void 0===undefined, void log('v'), typeof void 0)
//= undefined shadow
(function(undefined){ log(undefined, void 0) })(3); (function(){ var NaN=1, Infinity=2; log(NaN, Infinity) })()
//= Infinity
log(Infinity, -Infinity, 1/Infinity, NaN, [NaN].includes(NaN), Infinity.toString?.(), -Infinity+1)
//= typeof ops
log(typeof typeof 1, - -1, + +1, - +1, 1- -1, 1+ +1, !(!1), -(-1), ~~1.5, 2**-1, (-2)**2)
//= delete
var o={a:1}; log(delete o.a, delete o['b'], delete 1, 'a' in o); x9=1; log(delete x9)
//= comma
var a=(1,2); for (var i=(0,1), j=2; i<j; i++, log(i)); log(a, (0,eval)('typeof a')); var o={m(){return this===o}}; log((0,o.m)()===false, (o.m)())
//= in for init
for (var i=('a' in {a:1})?1:2; i<2; i++) log(i); for (var f=()=>('b' in {}), k=0;k<1;k++) log(f())
//= arrow body
var f=()=>({}), g=()=>{}, h=(a)=>{return {b:a}}, k=async()=>1, m=x=>y=>x+y; log(JSON.stringify([f(),g(),h(1),m(1)(2)]))
//= arrow this args
function F(){ this.v=1; var a=()=>arguments[0]+this.v; return a() } log(F.call({},2))
//= default params
var x=1; function f(a=x, b=()=>a){ var a=5; return [a,b()].join() } log(f(), f(2), f.length)
//= args alias
function f(a){ arguments[0]=9; return a } log(f(1)); function g(a,b){ a=3; return arguments[0] } log(g(1,2), g.length)
//= named fn expr
var f=function fact(n){ return n<2?1:n*fact(n-1) }; log(f(5), f.name, (function(){}).name===''); var q={w:function(){}, e(){}, r:()=>1}; log(q.w.name,q.e.name,q.r.name)
//= class
class A{ #p=1; static s=2; x=3; get p(){return this.#p} static{ this.t=4 } constructor(){ this.c=5 } 'q r'(){return 6} [`k${1}`](){return 7} async *g(){} } class B extends A{ constructor(){super(); this.d=super.p} } var b=new B; log(b.p,A.s,b.x,A.t,b.c,b['q r'](),b.k1(),b.d, A.name)
//= generator
function* g(){ var x=yield 1; log(x); yield* [2,3]; return 4 } var i=g(); log(i.next().value,i.next('q').value,i.next().value,i.next().value)
//= async
(async()=>{ try { await Promise.reject(1) } catch { } finally { } for await (var q of [1]) log('aw',q) })()
//= spread
log(Math.max(...[1,2],3), JSON.stringify({...{a:1},b:2}), [...'ab'].length, ((a,...r)=>r.length)(1,2,3))
//= json cond
var t={}; t.a ? t.b() : log('else'); t.a || log('or'); t.a && log('and'); if (t.a) log('x'); else if (t.b) log('y'); else log('z')
//= same call
function f(x){return 'f'+x} var a=1; log(a?f(1):f(2)); var o={m:function(x){return this===o}}; log(a?o.m(1):o.m(2)); var order=[]; function c(){order.push('c');return 1} function tgt(){order.push('t');return String} log((c()?tgt()(1):tgt()(2)), order.join())
//= same call changed callee
var f=String; function chg(){ f=function(){return 'changed'}; return 1 } log(chg()?f(1):f(2))
//= assign merge
var x; x=1; x=x+1; var y=x; y+=2; log(x,y); var a=[],i=0; a[i]=i++; a[i++]=i; log(a.join())
//= equality
log(null==undefined, null==0, ''==0, '1'==1, typeof x_=='undefined', typeof log==='function', [1]==1, !(1==2), !(1<NaN), !(1<2))
//= not inverted compare
var u; log(!(u<1), !(u>=1), !(1>u)&&!(u<2), !(NaN<1)||0)
//= bool compare
var x='1'; log(x==true, x===true, x!=false, !x==false)
//= instanceof in prec
log(!([] instanceof Array), !('a' in {}), -1 in [1], typeof ([] instanceof Array))
//= string quotes
log('a"b', "a'b", 'a\'b', "\"", `'"`, '\\', 'new\nline', 'tab\t', '\v\f\b', 'a\
b', '$' + '{x}', '${x}\n\n\n', 'a`b\n\n')
//= script end
log('</script>', '<\/script>', '<!--', '-->', /<\/script>/.source)
//= strings json
log(JSON.stringify('\u007f\u00a0\u00ad\ufeff\u200b\u200d\u2029'))
//= escapes control
log(JSON.stringify('\x01\x1f\x7f\x0b\x08\e\q\8'))
//= crlf
log('a\r\nb'.length, `a\r\nb`.length);
log(1)

//= nbsp ws
var a = 1;﻿log(a)
//= preserved bang comment
/*! licence */log(1)/*@cc_on alert(1) @*/
//= empty statements
;;;if(1);for(;;)break;while(0);do;while(0)log(1)
//= do while asi
var i=0; do i++; while(i<3) log(i)
//= this top
log(this===globalThis, (function(){return this===globalThis})())
//= global fn property
function glob(){} log(this.glob===glob); var gv=1; log(Object.getOwnPropertyDescriptor(this,'gv').configurable)
//= redeclare arguments
function f(){ var arguments; return arguments.length } log(f(1,2))
//= getElements order
var r=[]; r.push(1), r.push(2); r[r.length]=3; log(r.join())
//= long if chain
var r='',v=3; if(v==1)r='a';else if(v==2)r='b';else if(v==3){r='c';if(r)r+='!'}else r='d'; log(r)
//= async arrow prec
var f=async x=>await x, g=(a=>a)||1; log(typeof f, g(2))
//= yield ident
var yield_=1; var async=2, of=3, get=4, let1=5; log(async,of,get); for (of of [1]) log(of)
//= getter/static ids
var await=1; log(await)
//= while to for
var n=0; while(n<3){ if(n==1){n++;continue} n++; log(n) } var m; while(m=n--){ if(m==1) break } log(n)
//= return sequences
function f(){ log('a'); log('b'); return log('c'), 5 } log(f()); function g(){ var a=1; a++; return a } log(g())
//= throw seq
function f(x){ if(x) throw new Error('t'+x); return 1 } try { f(1) } catch (e) { log(e.message) } log(f(0))
//= proto method
function A(){}; A.prototype.b=function(){return 1}; log(new A().b(), new (A), new A instanceof A, new (function(){return A})()===A)
//= new member call
var ns={C:function(v){this.v=v}, get:function(){return ns}}; log(new ns.C(1).v, new (ns.get().C)(2).v, (new ns.C).v)
//= exp prec
var a=2; log((a+1)**2, (-a)**2, 2**3**2, (2**3)**2, a**-1)
//= sqrt prec
var a=2,b; log(2*Math.sqrt(a+2), -Math.sqrt(4), Math.sqrt(b=4)*2, b, Math.sqrt(a,9), (function(){return Math.sqrt(4).toFixed(1)})())
//= many vars order
var a=1,b=a+1,c=b+1; var d=c+1; e=d; var e; log(a,b,c,d,e)
//= var used in own init
var a=a||5; var b=typeof b; log(a,b); var ns=ns||{}; ns.x=1; log(ns.x)
//= window var guard
var lib; (function(l){ l.v=1 })(lib||(lib={})); log(lib.v)
//= function in cond
var t=true; if (t) var h1=function(){return 1}; else var h1=function(){return 2}; log(h1())
//= iife bang
!function(){log(1)}(); +function(){log(2)}(); void function(){log(3)}(); (()=>log(4))()
//= json parse text
log(JSON.parse('{"a":"\\u0041\\n"}').a)
//= date tz
log(new Date(0).getTime(), new Date(2020,0).getFullYear())
//= parseInt
log(parseInt('08'), parseInt('10',10), parseInt('0x1f'), isNaN('a'), isNaN(undefined), parseFloat('1.5x'))
//= String(x)
log(String(null), String(Symbol('q')), ''+1, [].concat([1],2).length, Array(3).length, Object(1)+1, Boolean(''))
