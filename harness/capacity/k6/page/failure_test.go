package page

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/dns/dnsmessage"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}

// behaving is a site that does something to each of its connections.
func behaving(t *testing.T, scheme string, act func(*net.TCPConn)) *site {
	t.Helper()
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			go act(conn)
		}
	}()
	return &site{url: fmt.Sprintf("%s://%s", scheme, listener.Addr()), ca: serve(t, "https1", nil).ca}
}

func read(conn net.Conn) { _, _ = conn.Read(make([]byte, 1<<16)) }

func TestFailuresAreToldByKind(t *testing.T) {
	closing := func(conn *net.TCPConn) { read(conn); _ = conn.Close() }
	resetting := func(conn *net.TCPConn) { read(conn); _ = conn.SetLinger(0); _ = conn.Close() }
	saying := func(text string) func(*net.TCPConn) {
		return func(conn *net.TCPConn) { read(conn); _, _ = conn.Write([]byte(text)); _ = conn.Close() }
	}
	refusing := func(t *testing.T) *site {
		made := behaving(t, "http", closing)
		gone, _ := net.Listen("tcp4", "127.0.0.1:0")
		made.url = "http://" + gone.Addr().String()
		_ = gone.Close()
		return made
	}
	for name, each := range map[string]struct {
		protocol, wanted string
		site             func(*testing.T) *site
	}{
		"refused": {"http1", noConnection, refusing},
		"closed":  {"http1", wasClosed, func(t *testing.T) *site { return behaving(t, "http", closing) }},
		"reset":   {"http1", wasReset, func(t *testing.T) *site { return behaving(t, "http", resetting) }},
		"cut": {"http1", wasClosed, func(t *testing.T) *site {
			return behaving(t, "http", saying("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"))
		}},
		"no HTTP": {"http1", badProtocol, func(t *testing.T) *site { return behaving(t, "http", saying("220 mail\r\n\r\n")) }},
		"HTTP/1.0": {"http1", badProtocol, func(t *testing.T) *site {
			return behaving(t, "http", saying("HTTP/1.0 200 OK\r\n\r\nold"))
		}},
		"no TLS":       {"https1", tlsFailed, func(t *testing.T) *site { return behaving(t, "https", saying("HTTP/1.1 400 no\r\n\r\n")) }},
		"TLS closed":   {"https1", wasClosed, func(t *testing.T) *site { return behaving(t, "https", closing) }},
		"TLS reset":    {"h2", wasReset, func(t *testing.T) *site { return behaving(t, "https", resetting) }},
		"no HTTP/2":    {"h2", badProtocol, func(t *testing.T) *site { return serve(t, "https1", nil) }},
		"error":        {"h2", badStatus, func(t *testing.T) *site { return answering(t, "h2", 503) }},
		"no authority": {"h2", tlsFailed, func(t *testing.T) *site { return untrusted(serve(t, "h2", nil)) }},
		"no authority of h3": {"h3", tlsFailed, func(t *testing.T) *site {
			return untrusted(serve(t, "h3", nil))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planFor(t, each.site(t), each.protocol, nil)
			came := load(t, plan, 0)
			if came.Error != each.wanted || came.Took != 0 || came.Broke <= 0 || came.Ended != came.Broke || came.Failed != 1 {
				t.Errorf("%+v", came.Result)
			}
		})
	}
}

func answering(t *testing.T, protocol string, status int) *site {
	return serve(t, protocol, func(server *httptest.Server) {
		server.Config.Handler = http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) { writer.WriteHeader(status) })
	})
}

func untrusted(made *site) *site {
	made.ca = "testdata/another.pem"
	return made
}

func TestAPageThatDoesNotComeIsGivenUpAndItsConnectionsAreClosed(t *testing.T) {
	for _, protocol := range []string{"http1", "https1", "h2", "h3"} {
		t.Run(protocol, func(t *testing.T) {
			scheme := protocols[protocol].scheme
			closed := make(chan struct{})
			served := behaving(t, scheme, func(conn *net.TCPConn) {
				for buffer := make([]byte, 1<<16); ; {
					if _, err := conn.Read(buffer); err != nil {
						close(closed)
						return
					}
				}
			})
			if protocol == "h3" {
				close(closed)
				socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}) // which nobody reads
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = socket.Close() }()
				served.url = "https://" + socket.LocalAddr().String()
			}
			came := load(t, planFor(t, served, protocol, func(plan map[string]any) { plan["timeout_ms"] = 150 }), 0)
			if came.Error != timedOut || came.Failed != 1 || came.Took != 0 || came.Broke < 150*time.Millisecond ||
				came.Ended != came.Broke {
				t.Errorf("%+v", came.Result)
			}
			<-closed
		})
	}
}

func TestAPageThatIsGivenUpTellsItsFirstFailureAndWhatCameOfIt(t *testing.T) {
	for _, protocol := range []string{"http1", "h2", "h3"} {
		t.Run(protocol, func(t *testing.T) {
			served := serve(t, protocol, nil) // whose pictures wait for more connections than there are
			served.expect(100)
			plan := planFor(t, served, protocol, func(plan map[string]any) {
				plan["timeout_ms"] = 500
				plan["objects"] = append(plan["objects"].([]map[string]any)[:1], map[string]any{"url": served.url + "/missing"})
			})
			came := load(t, plan, 0)
			close(served.gathered)
			if came.Error != badStatus || came.Failed != 2 || came.Took != 0 || came.Bytes < 1700 ||
				came.Ended < 500*time.Millisecond || came.Broke <= 0 || came.Broke >= came.Ended {
				t.Errorf("%+v", came.Result)
			}
		})
	}
}

func TestAnAnswerByHTTP3ThatIsCutOffIsNone(t *testing.T) {
	for method, wanted := range map[string]string{"GET": wasClosed, "HEAD": ""} {
		served := serving3(t, http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			if request.URL.Path == "/" {
				return
			}
			writer.Header().Set("Content-Length", "1700")
			if request.Method == http.MethodGet {
				writer.WriteHeader(http.StatusOK)
				stream, _ := writer.(http3.HTTPStreamer).HTTPStream() // quic-go's server would reset it
				_, _ = stream.Write(make([]byte, 1699))
				_ = stream.Close()
			}
		}))
		plan := planFor(t, served, "h3", func(plan map[string]any) {
			plan["objects"] = []map[string]any{{"url": served.url + "/short", "method": method}}
		})
		if came := load(t, plan, 0); came.Error != wanted {
			t.Errorf("%s: %+v", method, came.Result)
		}
	}
}

// names is a name server that knows one name, and whom it was asked by.
func names(t *testing.T, known string) (string, chan string) {
	t.Helper()
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	askers := make(chan string, 100)
	go func() {
		for buffer := make([]byte, 1500); ; {
			count, asker, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			var message dnsmessage.Message
			if message.Unpack(buffer[:count]) != nil {
				continue
			}
			askers <- asker.String()
			message.Response, message.RCode = true, dnsmessage.RCodeNameError
			if message.Questions[0].Name.String() == known+"." {
				message.RCode = dnsmessage.RCodeSuccess
				message.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: message.Questions[0].Name, Class: dnsmessage.ClassINET},
					Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
				}}
			}
			answer, _ := message.Pack()
			_, _ = socket.WriteTo(answer, asker)
		}
	}()
	return socket.LocalAddr().String(), askers
}

func TestNamesAreAskedForOncePerPageFromTheUsersAddress(t *testing.T) {
	resolver, askers := names(t, "example.com") // a name of the certificate of httptest
	for _, protocol := range []string{"http1", "https1", "h2", "h3"} {
		served := serve(t, protocol, nil)
		_, port, _ := net.SplitHostPort(served.url[len(protocols[protocol].scheme)+3:])
		served.url = protocols[protocol].scheme + "://example.com:" + port
		plan := planFor(t, served, protocol, func(plan map[string]any) {
			plan["resolver"], plan["addresses"] = resolver, []any{localhost(7)}
		})
		for range 2 {
			if came := load(t, plan, 0); came.Error != "" {
				t.Fatalf("%s: %+v", protocol, came.Result)
			}
			if asker, _, _ := net.SplitHostPort(<-askers); asker != "127.0.0.7" || len(askers) != 0 {
				t.Errorf("%s: asked by %s, and %d times more", protocol, asker, len(askers))
			}
		}
	}
}

func TestANameThatNobodyKnowsFailsThePage(t *testing.T) {
	resolver, _ := names(t, "example.com")
	plan := planFor(t, &site{url: "http://elsewhere.example"}, "http1", func(plan map[string]any) { plan["resolver"] = resolver })
	if came := load(t, plan, 0); came.Error != noName {
		t.Errorf("%+v", came.Result)
	}
}
