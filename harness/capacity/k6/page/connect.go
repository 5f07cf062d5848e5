package page

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

var tlsVersions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

const firstAnswerWithin = time.Second // then the name is asked for again, as Chromium does

// A countedConn counts what comes from the network.
type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c countedConn) Read(into []byte) (int, error) {
	count, err := c.Conn.Read(into)
	c.bytes.Add(int64(count))
	return count, err
}

// connect opens a connection from the user's address, with TLS where the protocol has it. It is the visit's from then on.
func (v *visit) connect(to target, offered ...string) (net.Conn, error) {
	address, err := v.resolve(to.host)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: v.source.AsSlice()}, KeepAlive: -1, Control: portAtConnect}
	plain, err := dialer.DialContext(v.ctx, "tcp4", net.JoinHostPort(address.String(), to.port))
	if err != nil {
		return nil, &failure{noConnection, err}
	}
	counted := countedConn{plain, &v.bytes}
	if !v.keep(counted) {
		return nil, &failure{wasClosed, net.ErrClosed}
	}
	if len(offered) == 0 {
		v.connected("http/1.1", "")
		return counted, nil
	}
	secure := tls.Client(counted, v.tlsConfig(to.host, offered))
	if err := secure.Handshake(); err != nil {
		_ = plain.Close()
		if kind := kindOf(err); kind != badProtocol {
			return nil, &failure{kind, err}
		}
		return nil, &failure{tlsFailed, err}
	}
	state := secure.ConnectionState()
	spoken := state.NegotiatedProtocol
	if spoken == "" {
		spoken = "http/1.1" // a server without ALPN
	}
	v.connected(spoken, tls.VersionName(state.Version))
	if spoken != v.plan.protocol.wire {
		_ = plain.Close()
		v.disconnected()
		return nil, failed(badProtocol, "%s speaks %s", to.host, spoken)
	}
	return secure, nil
}

// portAtConnect leaves the choice of a port to the call of connect, where only the pair of addresses must be free.
func portAtConnect(_, _ string, raw syscall.RawConn) error {
	var refused error
	err := raw.Control(func(descriptor uintptr) {
		refused = unix.SetsockoptInt(int(descriptor), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	})
	if err != nil {
		return err
	}
	return refused
}

// tlsConfig verifies the server. Sessions are resumed within a page, where the server offers it, and in no later one.
func (v *visit) tlsConfig(host string, offered []string) *tls.Config {
	version := tlsVersions[v.plan.TLS]
	made := &tls.Config{
		RootCAs: v.plan.roots, ServerName: host, NextProtos: offered,
		MinVersion: version, MaxVersion: version, ClientSessionCache: v.sessions,
	}
	if offered[0] == "h3" {
		made.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256} // a longer ClientHello takes two packets
	}
	return made
}

// resolve asks for the address of a host once a page.
func (v *visit) resolve(host string) (netip.Addr, error) {
	if known, err := netip.ParseAddr(v.plan.Hosts[host]); err == nil {
		return known, nil
	}
	if known, err := netip.ParseAddr(host); err == nil {
		return known, nil
	}
	v.mutex.Lock()
	asked := v.names[host]
	first := asked == nil
	if first {
		asked = &answer{done: make(chan struct{})}
		v.names[host] = asked
	}
	v.mutex.Unlock()
	if first {
		asked.address, asked.err = v.ask(host)
		close(asked.done)
	}
	<-asked.done
	return asked.address, asked.err
}

// An answer of the name server, once done is closed.
type answer struct {
	done    chan struct{}
	address netip.Addr
	err     error
}

func (v *visit) ask(host string) (netip.Addr, error) {
	name, err := dnsmessage.NewName(strings.TrimSuffix(host, ".") + ".")
	if err != nil {
		return netip.Addr{}, failed(noName, "%s: %w", host, err)
	}
	id := uint16(v.numbers.Add(1))
	question := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	packet, err := question.Pack()
	if err != nil {
		return netip.Addr{}, failed(noName, "%s: %w", host, err)
	}
	dialer := net.Dialer{LocalAddr: &net.UDPAddr{IP: v.source.AsSlice()}}
	conn, err := dialer.DialContext(v.ctx, "udp4", v.plan.nameServer)
	if err != nil {
		return netip.Addr{}, failed(noName, "%s: %w", host, err)
	}
	defer context.AfterFunc(v.ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	for wait := firstAnswerWithin; ; wait *= 2 {
		if _, err := conn.Write(packet); err != nil {
			return netip.Addr{}, failed(noName, "%s: %w", host, err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(wait))
		found, err := receive(conn, id, host)
		if late, ok := err.(net.Error); !ok || !late.Timeout() {
			return found, err
		}
	}
}

// receive waits for the answer with this number.
func receive(conn net.Conn, id uint16, host string) (netip.Addr, error) {
	buffer := make([]byte, 1500)
	for {
		count, err := conn.Read(buffer)
		if late, ok := err.(net.Error); ok && late.Timeout() {
			return netip.Addr{}, err
		}
		if err != nil {
			return netip.Addr{}, failed(noName, "%s: %w", host, err)
		}
		var message dnsmessage.Message
		if message.Unpack(buffer[:count]) != nil || message.ID != id || !message.Response {
			continue
		}
		for _, each := range message.Answers {
			if found, ok := each.Body.(*dnsmessage.AResource); ok {
				return netip.AddrFrom4(found.A), nil
			}
		}
		return netip.Addr{}, failed(noName, "%s: no address (%s)", host, message.RCode)
	}
}
