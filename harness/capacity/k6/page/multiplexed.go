package page

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// multiplexed is an origin by HTTP/3: one connection that has all requests, and a new one only when the server takes no
// more of them there.
type multiplexed struct {
	visit *visit
	dial  func() (session, error)

	mutex   sync.Mutex
	current *attempt
}

// A session is a connection of HTTP/3.
type session interface {
	http.RoundTripper
	usable() bool
}

// An attempt is a session once ready is closed, or the reason why there is none.
type attempt struct {
	ready   chan struct{}
	session session
	err     error
}

func (m *multiplexed) ask(number int) {
	go func() { m.visit.answered(number, m.fetch(number)) }()
}

func (m *multiplexed) fetch(number int) error {
	conn, err := m.connection()
	if err != nil {
		return err
	}
	each := &m.visit.plan.items[number]
	response, err := conn.RoundTrip(each.request.WithContext(m.visit.ctx))
	if err != nil {
		return err
	}
	return each.take(response, m.visit.plan.protocol.wire)
}

// connection is the one there is or that is on its way; all that wait for one that fails fail with it.
func (m *multiplexed) connection() (session, error) {
	m.mutex.Lock()
	if m.current == nil || m.current.spent() {
		if m.current != nil && m.current.err == nil {
			m.visit.disconnected()
		}
		made := &attempt{ready: make(chan struct{})}
		m.current = made
		go func() {
			made.session, made.err = m.dial()
			close(made.ready)
		}()
	}
	tried := m.current
	m.mutex.Unlock()
	<-tried.ready
	return tried.session, tried.err
}

func (a *attempt) spent() bool {
	select {
	case <-a.ready:
		return a.err != nil || !a.session.usable()
	default:
		return false
	}
}

var http3Transport = &http3.Transport{DisableCompression: true}

type session3 struct {
	*http3.ClientConn
	conn *quic.Conn
	ends []func() error
}

func (s *session3) usable() bool { return s.conn.Context().Err() == nil }

func (s *session3) received() int64 { return int64(s.conn.ConnectionStats().BytesReceived) }

// Close tells the server, and frees the socket.
func (s *session3) Close() error {
	_ = s.conn.CloseWithError(0, "")
	for _, end := range s.ends {
		_ = end()
	}
	return nil
}

func (v *visit) dial3(to target) (session, error) {
	address, err := v.resolve(to.host)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(to.port, 10, 16)
	if err != nil {
		return nil, failed(noConnection, "%s: no port %s", to.host, to.port)
	}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: v.source.AsSlice()})
	if err != nil {
		return nil, &failure{noConnection, err}
	}
	transport := &quic.Transport{Conn: socket}
	remote := net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, uint16(port)))
	conn, err := transport.Dial(v.ctx, remote, v.tlsConfig(to.host, []string{"h3"}), &quic.Config{})
	if err != nil {
		_ = transport.Close()
		_ = socket.Close()
		if kind := kindOf(err); kind == timedOut { // of the handshake: there is no connection
			return nil, &failure{noConnection, err}
		}
		return nil, err
	}
	made := &session3{http3Transport.NewClientConn(conn), conn, []func() error{transport.Close, socket.Close}}
	if !v.keep(made) {
		return nil, &failure{wasClosed, net.ErrClosed}
	}
	v.connected("h3", tls.VersionName(conn.ConnectionState().TLS.Version))
	return made, nil
}
