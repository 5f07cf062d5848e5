// A host by HTTP/1.1: up to so many connections, a request at a time on each. As in a browser, a request takes an idle
// connection; else one is opened for it, up to a number, and it takes the first that is ready.
'use strict'

const http = require('node:http')
const { failureOfSocket } = require('./failure')
const { connect } = require('./network')

const LENIENT = { insecureHTTPParser: true, maxHeaderSize: 131072 } // as the gateway
const HAS_NO_BODY = new Set(['GET', 'HEAD'])

class Http1Origin {
  constructor (visit, target) {
    this.visit = visit
    this.target = target
    this.most = visit.plan.connections_per_host
    this.queue = []
    this.idle = []
    this.connecting = 0
    this.open = 0
  }

  ask (number) {
    const socket = this.idle.pop()
    if (socket) return this.send(socket, number)
    this.queue.push(number)
    this.openAsNeeded()
  }

  /** Opens connections for what waits, as far as there may be more. */
  openAsNeeded () {
    while (this.connecting < this.queue.length && this.connecting + this.open < this.most) this.connect()
  }

  async connect () {
    this.connecting++
    let socket = null
    let failure = null
    try {
      socket = await connect(this.visit, this.target)
    } catch (error) {
      failure = error
    }
    this.connecting--
    if (socket) return this.opened(socket)
    const number = this.queue.shift()
    this.openAsNeeded()
    if (number !== undefined) this.visit.failed(number, failure)
  }

  opened (socket) {
    this.open++
    socket.on('error', () => {}) // 'close' follows
    socket.on('close', () => {
      this.open--
      this.idle = this.idle.filter((each) => each !== socket)
      this.openAsNeeded()
    })
    socket.on('free', () => { // Node's client has done with it, and it may have another request
      socket.wasUsed = true
      this.occupy(socket)
    })
    this.occupy(socket)
  }

  /** Gives a connection its next request, or has it wait for one. */
  occupy (socket) {
    const number = this.queue.shift()
    if (number === undefined) this.idle.push(socket)
    else this.send(socket, number)
  }

  send (socket, number) {
    const { method, path, authority, headers } = this.visit.plan.items[number]
    const own = { host: authority, connection: 'keep-alive', ...(HAS_NO_BODY.has(method) ? {} : { 'content-length': 0 }) }
    const request = http.request({ ...LENIENT, method, path, headers: { ...own, ...headers }, agent: agentOf(socket) })
    let answer = null
    request.on('response', (response) => {
      answer = response
      response.resume()
      response.on('error', (error) => this.visit.failed(number, failureOfSocket(error, 'protocol')))
    })
    request.on('close', () => { // just before the connection is free: what is asked for afterwards can take it
      if (answer?.complete) process.nextTick(() => this.visit.answered(number, answer.statusCode))
    })
    request.on('error', (error) => {
      if (!answer && socket.wasUsed) this.again(number)
      else if (!answer) this.visit.failed(number, failureOfSocket(error, 'protocol'))
    })
    request.end()
  }

  /** A server may close a connection that was used before the next request has come: that is made on another one. */
  again (number) {
    if (this.visit.isOver) return
    this.queue.unshift(number)
    this.openAsNeeded()
  }

  end () {
    this.queue.length = 0
  }
}

/** What Node's client asks for a connection: it gets this one. */
function agentOf (socket) {
  return { defaultPort: 80, protocol: 'http:', keepAlive: true, addRequest: (request) => request.onSocket(socket) }
}

module.exports = { Http1Origin }
