package page

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAPageTakesTheConnectionsOfABrowser(t *testing.T) {
	for protocol, wanted := range map[string]struct {
		connections int
		wire, tls   string
	}{
		"http1":        {6, "http/1.1", ""},
		"http1-close":  {51, "http/1.1", ""},
		"https1":       {6, "http/1.1", "TLS 1.3"},
		"https1-close": {51, "http/1.1", "TLS 1.3"},
		"h2":           {1, "h2", "TLS 1.3"},
		"h3":           {1, "h3", "TLS 1.3"},
	} {
		t.Run(protocol, func(t *testing.T) {
			served := serve(t, protocol, nil)
			came := load(t, planFor(t, served, protocol, nil), 0).Result
			if came.Error != "" || came.Requests != 1+objects || came.Failed != 0 {
				t.Fatalf("%+v", came)
			}
			if came.Connections != wanted.connections || served.connections() != wanted.connections {
				t.Errorf("%d connections, and %d by the server", came.Connections, served.connections())
			}
			if protocols[protocol].keepAlive && came.AtOnce != wanted.connections || came.AtOnce > atOnce(protocol) {
				t.Errorf("%d connections at once", came.AtOnce)
			}
			if came.Protocol != wanted.wire || came.TLS != wanted.tls {
				t.Errorf("it spoke %s over %q", came.Protocol, came.TLS)
			}
			if len(served.seen().paths) != 1+objects || served.seen().paths[0] != "/" {
				t.Errorf("the server saw %v", served.seen().paths)
			}
			if came.Bytes < (1+objects)*1700 || came.Document <= 0 || came.Took < came.Document || came.Ended != came.Took || came.Broke != 0 {
				t.Errorf("%+v", came)
			}
			if protocols[protocol].keepAlive && served.seen().most > 6 {
				t.Errorf("%d connections at once", served.seen().most)
			}
		})
	}
}

func TestConnectionsStayOpenUntilTheVisitEndsAndTheNextPageIsCold(t *testing.T) {
	for _, protocol := range []string{"http1", "https1", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			served := serve(t, protocol, nil)
			plan := planFor(t, served, protocol, nil)
			visit := load(t, plan, 0)
			if served.stillOpen() != visit.Connections {
				t.Errorf("%d of %d connections are open", served.stillOpen(), visit.Connections)
			}
			visit.Close()
			eventually(t, "closed connections", func() bool { return served.stillOpen() == 0 })
			served.expect(visit.Connections)
			next := load(t, plan, 0)
			if next.Connections != visit.Connections || served.connections() != 2*visit.Connections {
				t.Errorf("%d connections, and %d by the server in all", next.Connections, served.connections())
			}
		})
	}
}

func TestTheVersionOfTLSIsTheOneAskedFor(t *testing.T) {
	for _, protocol := range []string{"https1", "h2"} {
		plan := planFor(t, serve(t, protocol, nil), protocol, func(plan map[string]any) { plan["tls"] = "1.2" })
		if came := load(t, plan, 0); came.TLS != "TLS 1.2" || came.Error != "" {
			t.Errorf("%s: %+v", protocol, came.Result)
		}
	}
}

func TestObjectsWaitForThoseTheyComeAfter(t *testing.T) {
	for _, protocol := range []string{"http1", "h2", "h3"} {
		t.Run(protocol, func(t *testing.T) {
			served := serve(t, protocol, nil)
			plan := planFor(t, served, protocol, func(plan map[string]any) {
				plan["objects"] = []map[string]any{
					{"url": served.url + "/style"}, {"url": served.url + "/font", "after": []int{0}},
					{"url": served.url + "/late", "after": []int{-1, 0, 1}},
				}
			})
			if came := load(t, plan, 0); came.Error != "" {
				t.Fatalf("%+v", came.Result)
			}
			if !slices.Equal(served.seen().paths, []string{"/", "/style", "/font", "/late"}) {
				t.Errorf("%v", served.seen().paths)
			}
		})
	}
}

func TestAnIPAddressInAURLIsWhereThePlanSaysItIs(t *testing.T) {
	for host, written := range map[string]string{"203.0.113.7": "203.0.113.7", "2001:db8::1": "[2001:db8::1]", "localhost": "localhost"} {
		served := serve(t, "http1", nil)
		plan := planFor(t, served, "http1", func(plan map[string]any) {
			plan["document"] = strings.Replace(served.url, "127.0.0.1", written, 1) + "/"
			plan["hosts"] = map[string]string{host: "127.0.0.1"}
			plan["objects"] = nil
		})
		if came := load(t, plan, 0); came.Error != "" || came.Requests != 1 {
			t.Errorf("%s: %+v", host, came.Result)
		}
	}
}

func TestUsersHaveAddressesOfTheirOwn(t *testing.T) {
	for _, protocol := range []string{"http1", "h2", "h3"} {
		served := serve(t, protocol, nil)
		plan := planFor(t, served, protocol, func(plan map[string]any) {
			plan["addresses"] = []any{localhost(2), localhost(3)}
			plan["objects"] = nil
		})
		for user := range 4 {
			load(t, plan, user)
		}
		for peer := range served.seen().peers {
			if !strings.HasPrefix(peer, "127.0.0.2:") && !strings.HasPrefix(peer, "127.0.0.3:") {
				t.Errorf("%s: %s", protocol, peer)
			}
		}
		if served.connections() != 4 {
			t.Errorf("%s: %v", protocol, served.seen().peers)
		}
	}
}

func TestARequestOnAConnectionThatTheServerClosedIsMadeAgain(t *testing.T) {
	served := serve(t, "http1", func(server *httptest.Server) {
		answer := server.Config.Handler
		server.Config.Handler = http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			conn, buffered, err := http.NewResponseController(writer).Hijack()
			if err != nil {
				panic(err)
			}
			recorded := httptest.NewRecorder()
			answer.ServeHTTP(recorded, request)
			_, _ = buffered.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") // and does not say that it closes
			_ = buffered.Flush()
			_ = conn.Close()
		})
	})
	came := load(t, planFor(t, served, "http1", nil), 0)
	if came.Error != "" || came.Failed != 0 || len(served.seen().paths) != 1+objects {
		t.Errorf("%+v, %d requests", came.Result, len(served.seen().paths))
	}
	if came.Connections < 1+objects || came.AtOnce > 6 {
		t.Errorf("%d connections, %d of them at once", came.Connections, came.AtOnce)
	}
}

// A leaving is a connection whose server takes no further requests.
type leaving struct{ http.RoundTripper }

func (leaving) usable() bool { return false }

func TestAConnectionThatTakesNoRequestsIsReplacedAndCountsNoMore(t *testing.T) {
	v := &visit{plan: planFor(t, serve(t, "h3", nil), "h3", nil)}
	origin := &multiplexed{visit: v, dial: func() (session, error) {
		v.connected("h3", "TLS 1.3")
		return leaving{}, nil
	}}
	for range 3 {
		if _, err := origin.connection(); err != nil {
			t.Fatal(err)
		}
	}
	if v.opened != 3 || v.atOnce != 1 {
		t.Errorf("%d connections, %d of them at once", v.opened, v.atOnce)
	}
}

func TestTheFirstUsersWaitBeforeTheirFirstPage(t *testing.T) {
	served := serve(t, "http1", nil)
	plan := planFor(t, served, "http1", func(plan map[string]any) { plan["first_pauses_ms"] = []float64{0, 1500.5} })
	for user, wanted := range map[int]time.Duration{0: 0, 1: 1500500 * time.Microsecond, 2: 0} {
		if plan.FirstPause(user) != wanted {
			t.Errorf("user %d waits %s", user, plan.FirstPause(user))
		}
	}
}

func TestWhatTheBrowserFoundMissingIsPartOfThePage(t *testing.T) {
	served := serve(t, "http1", nil)
	for status, wanted := range map[int]string{404: "", 200: badStatus, 0: badStatus} {
		plan := planFor(t, served, "http1", func(plan map[string]any) {
			plan["objects"] = []map[string]any{{"url": served.url + "/missing", "status": status}}
		})
		if came := load(t, plan, 0); came.Error != wanted {
			t.Errorf("%d: %+v", status, came.Result)
		}
	}
}

func TestSessionsAreResumedWithinAPageAlone(t *testing.T) {
	served := serve(t, "https1", func(server *httptest.Server) {
		server.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	})
	plan := planFor(t, served, "https1", func(plan map[string]any) {
		plan["tls"] = "1.2"
		plan["objects"] = []map[string]any{{"url": served.url + "/icon1"}, {"url": served.url + "/icon2"}}
	})
	served.expect(2)
	load(t, plan, 0)
	within := served.seen().resumed
	if within == 0 {
		t.Error("the second connection of a page did not resume the session of the first")
	}
	plan = planFor(t, served, "https1", func(plan map[string]any) { plan["tls"], plan["objects"] = "1.2", nil })
	load(t, plan, 0)
	load(t, plan, 0)
	if served.seen().resumed != within {
		t.Error("a page resumed a session of an earlier one")
	}
}

func TestNoConnectionIsOpenedThatNoRequestWaitsFor(t *testing.T) {
	served := serve(t, "http1", nil)
	plan := planFor(t, served, "http1", func(plan map[string]any) {
		plan["objects"] = []map[string]any{{"url": served.url + "/1"}, {"url": served.url + "/2", "after": []int{0}}}
	})
	if came := load(t, plan, 0); came.Connections != 1 {
		t.Errorf("%+v", came.Result)
	}
}

func TestHeadersAreThoseOfThePlan(t *testing.T) {
	var mutex sync.Mutex
	seen := map[string]http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		seen[request.URL.Path] = request.Header
	}))
	defer server.Close()
	plan := planFor(t, &site{url: server.URL}, "http1", func(plan map[string]any) {
		plan["headers"] = map[string]string{"user-agent": "ours", "accept": "text/html"}
		plan["objects"] = []map[string]any{{"url": server.URL + "/a.png"}}
	})
	if came := load(t, plan, 0); came.Error != "" {
		t.Fatalf("%+v", came.Result)
	}
	mutex.Lock()
	defer mutex.Unlock()
	if seen["/"].Get("User-Agent") != "ours" || len(seen["/"]) != 3 { // and Connection
		t.Errorf("%v", seen["/"])
	}
	if usual := seen["/a.png"]; usual.Get("User-Agent") != userAgent || usual.Get("Accept") != acceptImages ||
		usual.Get("Referer") != server.URL+"/" || usual.Get("Accept-Encoding") != "gzip, deflate" {
		t.Errorf("%v", usual)
	}
}

func TestPlansThatMakeNoSenseAreRefused(t *testing.T) {
	for said, change := range map[string]func(*Plan){
		"protocol": func(plan *Plan) { plan.Protocol = "spdy" },
		"tls":      func(plan *Plan) { plan.TLS = "1.1" },
		"after":    func(plan *Plan) { plan.Objects = []Item{{URL: "https://a.example/", After: []int{0}}} },
		"needs":    func(plan *Plan) { plan.Document = "http://a.example/" },
		"users":    func(plan *Plan) { plan.Users = Users{} },
		"timeout":  func(plan *Plan) { plan.TimeoutMs = 0 },
	} {
		plan := *planFor(t, serve(t, "h2", nil), "h2", nil)
		plan.items = nil
		change(&plan)
		if err := plan.prepare(); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%s: %v", said, err)
		}
	}
}

func TestAUserWhoGoesEndsThePage(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	plan := planFor(t, &site{url: "http://" + listener.Addr().String()}, "http1", nil)
	ctx, cancel := contextOf(t)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			cancel()
			_, _ = conn.Read(make([]byte, 1<<16))
		}
	}()
	if visit, err := plan.Load(ctx, 0); err == nil {
		t.Errorf("%+v", visit.Result)
	}
}
