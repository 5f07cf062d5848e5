// A SPDY/3 client for test_spdy_gateway.py that reads nothing of a large answer, so that its window stays shut.
//
//     node spdyunread.js ADDRESS PORT HOST LARGE SMALL WINDOW
//
// Without WINDOW it waits for all of LARGE. With WINDOW bytes it waits for as many of it, then for all of SMALL on the same
// connection. It tells how many bytes of LARGE have come by then.
'use strict'

const net = require('node:net')
const transport = require('spdy-transport')

const [address, port, host, large, small, window] = process.argv.slice(2)

const socket = net.connect(+port, address, () => {
  const connection = transport.connection.create(socket, { protocol: 'spdy', isServer: false })
  connection.start(3)
  let bytes = 0
  let asked = false
  const told = () => process.stdout.write(String(bytes), () => socket.destroy())
  const unread = connection.request({ method: 'GET', host, path: large, headers: {} })
  connection.on('frame', (frame) => {
    if (frame.type !== 'DATA' || frame.id !== unread.id) return
    bytes += frame.data.length
    if (!window && frame.fin) return told()
    if (!window || asked || bytes < +window) return
    asked = true
    const other = connection.request({ method: 'GET', host, path: small, headers: {} })
    other.on('end', told)
    other.resume()
  })
})
