package page

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

const objects = 50

// A site serves the page by real servers and notes what reaches them.
type site struct {
	url, ca string

	gather   int           // no object is answered before so many connections are there
	gathered chan struct{} // closed from then on

	mutex   sync.Mutex
	peers   map[string]int // requests by the address of the connection
	open    map[string]bool
	most    int // connections open at once
	resumed int
	paths   []string
}

func (s *site) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	s.mutex.Lock()
	s.peers[request.RemoteAddr]++
	s.paths = append(s.paths, request.URL.Path)
	if request.TLS != nil && request.TLS.DidResume {
		s.resumed++
	}
	if len(s.peers) == s.gather {
		s.gather = 0
		close(s.gathered)
	}
	gathered := s.gathered
	s.mutex.Unlock()
	if strings.HasPrefix(request.URL.Path, "/icon") {
		<-gathered
	}
	if request.URL.Path == "/missing" {
		http.NotFound(writer, request)
		return
	}
	_, _ = writer.Write(make([]byte, 1700))
}

// expect has the next page's objects answered once it has so many connections.
func (s *site) expect(connections int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.gather, s.gathered = len(s.peers)+connections, make(chan struct{})
}

// seen is a copy of what the site has noted.
func (s *site) seen() seen {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return seen{slices.Clone(s.paths), maps.Clone(s.peers), s.most, s.resumed}
}

type seen struct {
	paths         []string
	peers         map[string]int
	most, resumed int
}

func (s *site) connections() int { return len(s.seen().peers) }

func (s *site) stillOpen() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.open)
}

// atOnce is how many connections a page has at once.
func atOnce(protocol string) int {
	if protocols[protocol].wire == "http/1.1" {
		return 6
	}
	return 1
}

// serve has a site served by a protocol, for the length of the test.
func serve(t *testing.T, protocol string, change func(*httptest.Server)) *site {
	t.Helper()
	made := &site{peers: map[string]int{}, open: map[string]bool{}}
	made.expect(atOnce(protocol))
	if protocol == "h3" {
		made.serve3(t, made)
		return made
	}
	server := httptest.NewUnstartedServer(made)
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		made.mutex.Lock()
		defer made.mutex.Unlock()
		switch state {
		case http.StateNew:
			made.open[conn.RemoteAddr().String()] = true
			made.most = max(made.most, len(made.open))
		case http.StateClosed, http.StateHijacked:
			delete(made.open, conn.RemoteAddr().String())
		}
	}
	server.TLS = &tls.Config{SessionTicketsDisabled: true}
	if change != nil {
		change(server)
	}
	switch protocol {
	case "http1", "http1-close":
		server.Start()
	case "h2":
		server.EnableHTTP2 = true
		server.StartTLS()
	default:
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	made.url = server.URL
	if server.Certificate() != nil {
		made.ca = authority(t, server.Certificate().Raw)
	}
	return made
}

func authority(t *testing.T, certificate []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// serving3 is a site whose answers by HTTP/3 are those of a handler.
func serving3(t *testing.T, handler http.Handler) *site {
	made := &site{}
	made.serve3(t, handler)
	return made
}

func (s *site) serve3(t *testing.T, handler http.Handler) {
	t.Helper()
	certificates := httptest.NewTLSServer(handler)
	certificates.Close()
	s.ca = authority(t, certificates.Certificate().Raw)
	config := &tls.Config{Certificates: certificates.TLS.Certificates}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	server := &http3.Server{Handler: handler, TLSConfig: http3.ConfigureTLSConfig(config), QUICConfig: &quic.Config{}}
	go func() { _ = server.Serve(socket) }()
	t.Cleanup(func() { _ = server.Close(); _ = socket.Close() })
	s.url = fmt.Sprintf("https://%s", socket.LocalAddr())
}

// planFor is the plan of a page with pictures on the site, read as the harness hands it over.
func planFor(t *testing.T, s *site, protocol string, change func(map[string]any)) *Plan {
	t.Helper()
	pictures := []map[string]any{}
	for number := range objects {
		pictures = append(pictures, map[string]any{"url": fmt.Sprintf("%s/icon%02d.png", s.url, number), "after": []int{-1}})
	}
	described := map[string]any{
		"document": s.url + "/", "objects": pictures, "protocol": protocol, "tls": "1.3", "ca": s.ca,
		"timeout_ms": 20000, "addresses": []string{"127.0.0.1"}, "users": map[string]any{"to": 1, "over_s": 1},
	}
	if change != nil {
		change(described)
	}
	data, err := json.Marshal(described)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func load(t *testing.T, plan *Plan, user int) *Visit {
	t.Helper()
	visit, err := plan.Load(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(visit.Close)
	return visit
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-t.Context().Done():
			t.Fatalf("waited in vain: %s", what)
		default:
		}
	}
}

func localhost(number int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, byte(number)}) }
