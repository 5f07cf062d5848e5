// A SPDY/3 client for test_spdy_gateway.py: fetches targets over one connection, all at once, and tells as JSON what came.
//
//     node spdyclient.js ADDRESS PORT HOST CA|- ABORTED TARGET...
//
// CA is the authority's certificate, - for SPDY without TLS. The stream of the target ABORTED is reset once some of it
// has come.
'use strict'

const crypto = require('node:crypto')
const fs = require('node:fs')
const net = require('node:net')
const tls = require('node:tls')
const transport = require('spdy-transport')

const [address, port, host, ca, aborted, ...targets] = process.argv.slice(2)

function run (socket) {
  const connection = transport.connection.create(socket, { protocol: 'spdy', isServer: false })
  connection.start(3)
  let open = targets.length
  const answers = {}
  const ended = (target, answer) => {
    answers[target] = answer
    if (--open > 0) return
    const secure = socket.encrypted ? [socket.getProtocol(), socket.alpnProtocol] : null
    process.stdout.write(JSON.stringify({ secure, answers }))
    socket.destroy()
  }
  for (const target of targets) {
    const stream = connection.request({ method: 'GET', host, path: target, headers: {} })
    const sum = crypto.createHash('sha256')
    const answer = { bytes: 0 }
    stream.on('error', () => {}) // 'close' follows
    stream.on('response', (status, headers) => Object.assign(answer, { status, headers }))
    stream.on('data', (chunk) => {
      sum.update(chunk)
      answer.bytes += chunk.length
      if (target === aborted) stream.abort()
    })
    stream.once('close', (error) => ended(target, { ...answer, sha256: error ? null : sum.digest('hex') }))
  }
}

if (ca === '-') {
  const socket = net.connect(+port, address, () => run(socket))
} else {
  const options = { servername: host, ca: fs.readFileSync(ca), ALPNProtocols: ['spdy/3'] }
  const socket = tls.connect(+port, address, options, () => run(socket))
}
