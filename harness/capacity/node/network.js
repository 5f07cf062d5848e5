// Names and connections of a page: each host is asked for, and every connection made, from the user's own address.
'use strict'

const dns = require('node:dns')
const net = require('node:net')
const tls = require('node:tls')
const { Failure, failureOfSocket } = require('./failure')

// A name that is not answered is asked for again, after a second at first, as Chromium does, and then twice as long.
const ASKING = { timeout: 1000, tries: 10 }

/** The names of a page: a name server of its own, which has been asked for nothing yet. */
class Names {
  constructor (plan, source) {
    this.plan = plan
    this.asked = new Map()
    this.resolver = new dns.promises.Resolver(ASKING)
    this.resolver.setServers([plan.resolver])
    this.resolver.setLocalAddress(source)
  }

  /** The address of a host, which is asked for once a page. */
  addressOf (host) {
    const known = this.plan.hosts[host] || (net.isIP(host) && host) // an IP address in a URL is one of the page's hosts
    if (known) return known
    if (!this.asked.has(host)) this.asked.set(host, this.ask(host))
    return this.asked.get(host)
  }

  async ask (host) {
    try {
      const [address] = await this.resolver.resolve4(host)
      return address
    } catch (error) {
      throw new Failure('dns', `${host}: ${error.message}`)
    }
  }

  end () {
    this.resolver.cancel()
  }
}

/** A connection of a visit, ready for requests; Failure when there is none. It ends with the visit. */
async function connect (visit, target) {
  const { protocol } = visit.plan
  const address = await visit.names.addressOf(target.host)
  const plain = net.connect({ host: address, port: target.port, localAddress: visit.source, noDelay: true })
  visit.keep(plain)
  await event(plain, 'connect', (error) => new Failure('connect', error.message))
  if (!protocol.encrypted) {
    visit.connected(plain, protocol.wire, null)
    return plain
  }
  const secure = tls.connect({
    socket: plain,
    host: target.host,
    servername: net.isIP(target.host) ? '' : target.host,
    ALPNProtocols: [protocol.wire],
    secureContext: visit.plan.security
  })
  plain.on('error', () => {}) // the one above it tells
  visit.keep(secure)
  await event(secure, 'secureConnect', (error) => failureOfSocket(error, 'tls'))
  const spoken = secure.alpnProtocol || 'http/1.1' // of a server without ALPN
  visit.connected(secure, spoken, secure.getProtocol().replace('v', ' '))
  if (spoken === protocol.wire) return secure
  secure.destroy()
  throw new Failure('protocol', `${target.host} speaks ${spoken}`)
}

/** Until a socket says that it is ready; of one that ends before, what the error is made to. */
function event (socket, name, failure) {
  return new Promise((resolve, reject) => {
    const settled = () => {
      socket.off(name, good)
      socket.off('error', bad)
      socket.off('close', gone)
    }
    const good = () => { settled(); resolve() }
    const bad = (error) => { settled(); socket.on('error', () => {}); reject(failure(error)) }
    const gone = () => { settled(); reject(new Failure('closed', 'the connection was closed')) }
    socket.on(name, good)
    socket.on('error', bad)
    socket.on('close', gone)
  })
}

module.exports = { Names, connect }
