// The gateway of the protocols of 2012: HTTP/1.1, with keep-alive (pipelined or not) and without, and SPDY/3, each plain or
// over TLS, in front of nginx.
//
//     node gateway.js gateway.json
//
// Every request takes the same way: read here, sent on to nginx over a kept connection on the same host, answered as
// nginx answers it. One line of JSON per request goes to the log at its end. Settings: configs/servers/gateway.template.
'use strict'

const fs = require('node:fs')
const http = require('node:http')
const net = require('node:net')
const tls = require('node:tls')
const { constants } = require('node:crypto')
const { serveSpdy } = require('./spdy')

const settings = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))
const log = fs.openSync(settings.log, 'a')
const LENIENT = { insecureHTTPParser: true, maxHeaderSize: settings.header_bytes } // pages ask for odd and long URLs
const CLOSED_BY_BROWSER = 499 // nginx's status for a request whose browser has gone
const RETRY_MS = 10

// A connection to nginx per request under way, kept for the next one. Node's own agent does not delay packets (Nagle).
const agent = new http.Agent({ keepAlive: true, maxFreeSockets: Infinity })

/** One request on its way through, and what the log will say of it. */
class Exchange {
  constructor (connection, asked) {
    this.connection = connection
    this.asked = asked // { method, target, host, upgrade }
    this.startedMs = Date.now()
    this.began = performance.now()
    this.requestsBefore = connection.requests++
    this.depth = 1 + [...connection.underWay].filter((each) => !each.isSent()).length
    connection.underWay.add(this)
    this.status = 0
    this.answer = ''
    this.bodyBytes = 0
  }

  /** Whether the browser may have all of the answer: it may ask for more before Node says that this has ended. */
  isSent () {
    return Boolean(this.response?.writableEnded && this.response.socket?.writableLength === 0)
  }

  /** The end, whoever sees it first: hang up on nginx if it has not answered in full, and write the line of the log. */
  end () {
    if (!this.connection.underWay.delete(this)) return
    if (!this.isWhole) this.onward.destroy()
    const { listener } = this.connection
    const line = {
      started_us: this.startedMs * 1000,
      duration_us: Math.round((performance.now() - this.began) * 1000),
      client_address: this.connection.clientAddress,
      client_port: this.connection.clientPort,
      server_address: this.connection.serverAddress,
      server_port: this.connection.serverPort,
      protocol: listener.wire,
      tls: this.connection.tls,
      resumed: this.connection.resumed,
      ...this.asked,
      status: this.status || CLOSED_BY_BROWSER,
      answer: this.answer,
      body_bytes: this.bodyBytes,
      requests_before: this.requestsBefore,
      depth: this.depth
    }
    fs.writeSync(log, JSON.stringify(line) + '\n') // at once: a reader must find it when the browser has its answer
  }

  /**
   * Ask nginx. `headers` are names and values in turn. `answered(response, headers)` gets the answer without the header
   * that is for us, `failed()` is called when there is none, or no more of it.
   */
  forward (headers, answered, failed) {
    const { method, target } = this.asked
    const backend = settings.backends[this.connection.listener.scheme]
    this.onward = http.request({ ...backend, ...LENIENT, agent, method, path: target, headers }, (response) => {
      this.status = response.statusCode
      const kept = []
      for (let at = 0; at < response.rawHeaders.length; at += 2) {
        const [name, value] = response.rawHeaders.slice(at, at + 2)
        if (name === settings.answer_header) this.answer = value
        else kept.push(name, value)
      }
      response.on('data', (chunk) => { this.bodyBytes += chunk.length })
      response.on('end', () => { this.isWhole = true })
      answered(response, kept)
    })
    this.onward.on('error', (error) => {
      if (!this.connection.underWay.has(this)) return // the browser went first, and we hung up on nginx
      console.error(`${method} ${target}: ${error.message}`)
      this.status ||= 502
      failed()
    })
    return this.onward
  }
}

/** What is remembered of a connection. The addresses are read now: a closed socket has none. */
function connectionOf (socket, listener) {
  socket.on('error', () => {}) // a browser that closes in the middle of something is none of our troubles
  socket.on('close', () => connection.underWay.forEach((exchange) => exchange.end()))
  const connection = {
    socket,
    listener,
    clientAddress: socket.remoteAddress,
    clientPort: socket.remotePort,
    serverAddress: socket.localAddress,
    serverPort: socket.localPort,
    tls: socket.encrypted ? socket.getProtocol() : null,
    resumed: Boolean(socket.encrypted && socket.isSessionReused()),
    requests: 0,
    underWay: new Set()
  }
  return connection
}

// --- HTTP/1.1 ------------------------------------------------------------------------------------------------------
// Node's own server reads pipelined requests as they come and sends their answers in order.
const http1 = http.createServer({ ...LENIENT, requireHostHeader: false, keepAliveTimeoutBuffer: 0 }, onRequest)
// As Node does by itself, but TLS is ended as it should be: to OpenSSL 3.5 another end is an error.
http1.on('clientError', (error, socket) => {
  if (!socket.writable || socket._httpMessage?._headerSent) return socket.destroy()
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
})
http1.keepAliveTimeout = settings.timeout_s * 1000
http1.headersTimeout = http1.requestTimeout = http1.timeout = 0
const connections = new WeakMap() // by socket

function onRequest (request, response) {
  const exchange = new Exchange(connections.get(request.socket), {
    method: request.method,
    target: request.url,
    host: request.headers.host || '',
    upgrade: request.headers.upgrade || ''
  })
  exchange.response = response
  response.sendDate = false // nginx's own is passed on
  const { keep_alive: keepAlive } = exchange.connection.listener
  if (!keepAlive) response.shouldKeepAlive = false // Node then says so itself, and closes after the answer
  request.pipe(exchange.forward(request.rawHeaders, (answer, headers) => {
    response.writeHead(answer.statusCode, answer.statusMessage, keepAlive ? headers : withoutConnection(headers))
    answer.on('error', () => response.destroy())
    answer.pipe(response)
  }, () => {
    if (response.headersSent) return response.destroy()
    response.writeHead(502, { 'Content-Length': 0 })
    response.end()
  }))
  response.on('close', () => exchange.end())
}

/** Headers, names and values in turn, without what nginx says of its own connection to us. */
function withoutConnection (headers) {
  return headers.filter((_, at) => headers[at - at % 2].toLowerCase() !== 'connection')
}

// --- sockets -------------------------------------------------------------------------------------------------------
function accept (listener) {
  return (socket) => {
    const connection = connectionOf(socket, listener)
    if (listener.wire === 'spdy/3') {
      serveSpdy(socket, (asked) => new Exchange(connection, asked), settings)
    } else {
      connections.set(socket, connection)
      http1.emit('connection', socket)
      // While it waits to send a large answer Node's server reads no requests, and what TLS has decrypted by then ends
      // the connection. With a listener for data the parser is fed by the stream, which keeps it until it is wanted.
      socket.on('data', () => {})
    }
  }
}

/** A context per host name; all with the one version and cipher there are. */
function secureContexts (listener) {
  const version = `TLSv${settings.tls}`
  return new Map(Object.entries(listener.certificates).map(([name, { certificate, key }]) => [name, tls.createSecureContext({
    key: fs.readFileSync(key),
    cert: fs.readFileSync(certificate),
    minVersion: version,
    maxVersion: version,
    ciphers: settings.ciphers,
    secureOptions: constants.SSL_OP_NO_TICKET // with no cache of sessions: nothing to resume
  })]))
}

function serverFor (listener) {
  if (!listener.encrypted) return net.createServer({ noDelay: true }, accept(listener))
  const contexts = secureContexts(listener)
  const others = contexts.get(listener.others)
  const options = {
    ALPNProtocols: [listener.wire],
    SNICallback: (name, give) => give(null, contexts.get(name.toLowerCase()) || others),
    secureContext: contexts.get(listener.unnamed)
  }
  return net.createServer({ noDelay: true }, (plain) => {
    const secure = new tls.TLSSocket(plain, { isServer: true, ...options })
    plain.on('error', () => secure.destroy())
    secure.on('error', () => plain.destroy()) // a handshake that fails is the browser's affair
    secure.once('secure', () => accept(listener)(secure))
  })
}

// A stream that ends in the middle, in a library or of a browser, must not end a run of thousands of loads.
process.on('uncaughtException', (error) => console.error(error.stack))

/** Listen only once nginx does: who gets through to us gets an answer. */
function whenBackendsListen (then) {
  const waiting = new Set(Object.keys(settings.backends))
  const knock = (scheme) => {
    const { host, port } = settings.backends[scheme]
    const socket = net.connect(port, host, () => {
      socket.destroy()
      waiting.delete(scheme)
      if (waiting.size === 0) then()
    })
    socket.on('error', () => setTimeout(knock, RETRY_MS, scheme))
  }
  waiting.forEach(knock)
}

whenBackendsListen(() => {
  for (const listener of settings.listeners) {
    const server = serverFor(listener)
    server.on('error', (error) => { // an address that is taken: there is no use in going on
      console.error(error.message)
      process.exit(1)
    })
    server.listen({ host: listener.address, port: listener.port, backlog: 4096 })
  }
})
