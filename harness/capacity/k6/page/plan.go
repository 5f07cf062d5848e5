// Package page loads a page as a browser with nothing in its caches does: names, connections, the document, and what
// the page asks for afterwards, in the order and by the dependencies that a plan tells.
package page

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"time"

	"golang.org/x/net/http2/hpack"
)

// Protocols by their names in studies. One connection serves one request where keepAlive is false.
var protocols = map[string]protocol{
	"http1":        {wire: "http/1.1", scheme: "http", keepAlive: true},
	"http1-close":  {wire: "http/1.1", scheme: "http"},
	"https1":       {wire: "http/1.1", scheme: "https", keepAlive: true},
	"https1-close": {wire: "http/1.1", scheme: "https"},
	"h2":           {wire: "h2", scheme: "https", keepAlive: true},
	"h3":           {wire: "h3", scheme: "https", keepAlive: true},
}

type protocol struct {
	wire, scheme string
	keepAlive    bool
}

// Item is one thing that a page asks for. After are the numbers of the objects it waits for; -1 is the document, which
// all wait for. Status is what the answer must be; 0 takes every answer that is no error.
type Item struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Status  int               `json:"status"`
	After   []int             `json:"after"`
}

// Users says how many users there are when: a ramp, or steps.
type Users struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	OverS float64 `json:"over_s"`
	Steps []int   `json:"steps"`
	StepS float64 `json:"step_s"`
}

// Plan is the page and how it is loaded, as the harness describes it. Resolver is an address, with a port unless it is 53;
// Hosts has where the hosts are that it is not asked for, an IP address among them. Addresses are those of the users, who
// take turns at them. FirstPausesMs is how long the first users wait before their first page.
type Plan struct {
	Document           string            `json:"document"`
	Headers            map[string]string `json:"headers"`
	Status             int               `json:"status"`
	Objects            []Item            `json:"objects"`
	Hosts              map[string]string `json:"hosts"`
	Resolver           string            `json:"resolver"`
	Protocol           string            `json:"protocol"`
	ConnectionsPerHost int               `json:"connections_per_host"`
	TimeoutMs          float64           `json:"timeout_ms"`
	TLS                string            `json:"tls"`
	CA                 string            `json:"ca"`
	Addresses          []netip.Addr      `json:"addresses"`
	ThinkMs            float64           `json:"think_ms"`
	FirstPausesMs      []float64         `json:"first_pauses_ms"`
	Users              Users             `json:"users"`
	Lines              string            `json:"lines"`
	EpochNs            int64             `json:"epoch_ns"`

	protocol   protocol
	items      []item // the document first
	roots      *x509.CertPool
	nameServer string
}

// An item in the form in which it is asked for, the same for all users.
type item struct {
	target    target
	request   *http.Request
	wire      []byte              // the request in HTTP/1.1
	fields    []hpack.HeaderField // and in HTTP/2
	status    int
	waitsFor  int   // how many items
	followers []int // the items that wait for this one
}

// A target is where connections go to.
type target struct {
	host, port string
}

// Read reads a plan from a file and refuses what makes no sense.
func Read(file string) (*Plan, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	plan := &Plan{ConnectionsPerHost: 6}
	if err := json.Unmarshal(data, plan); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := plan.prepare(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return plan, nil
}

// Timeout is how long a page may take.
func (p *Plan) Timeout() time.Duration { return ms(p.TimeoutMs) }

// Think is how long a user looks at a page before the next one.
func (p *Plan) Think() time.Duration { return ms(p.ThinkMs) }

// FirstPause is how long a user waits before the first page.
func (p *Plan) FirstPause(user int) time.Duration {
	if user >= len(p.FirstPausesMs) {
		return 0
	}
	return ms(p.FirstPausesMs[user])
}

// Length is how long the crowd is there.
func (u Users) Length() time.Duration {
	if len(u.Steps) > 0 {
		return ms(1000 * u.StepS * float64(len(u.Steps)))
	}
	return ms(1000 * u.OverS)
}

func ms(value float64) time.Duration { return time.Duration(value * float64(time.Millisecond)) }

func (p *Plan) prepare() error {
	if err := p.check(); err != nil {
		return err
	}
	p.nameServer = p.Resolver
	if _, err := netip.ParseAddr(p.Resolver); err == nil {
		p.nameServer = net.JoinHostPort(p.Resolver, "53")
	}
	if p.protocol.scheme == "https" {
		pem, err := os.ReadFile(p.CA)
		if err != nil {
			return err
		}
		p.roots = x509.NewCertPool()
		if !p.roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca: no certificate in %s", p.CA)
		}
	}
	all := append([]Item{{URL: p.Document, Headers: p.Headers, Status: p.Status}}, p.Objects...)
	for number, each := range all {
		made, err := p.prepared(each, number == 0)
		if err != nil {
			return err
		}
		p.items = append(p.items, made)
	}
	for number, each := range p.Objects {
		after := append([]int{-1}, each.After...)
		slices.Sort(after)
		after = slices.Compact(after)
		if after[0] < -1 || after[len(after)-1] >= number {
			return fmt.Errorf("objects[%d]: after holds %v; it must name earlier objects", number, each.After)
		}
		p.items[number+1].waitsFor = len(after)
		for _, earlier := range after {
			p.items[earlier+1].followers = append(p.items[earlier+1].followers, number+1)
		}
	}
	return nil
}

func (p *Plan) check() error {
	var known bool
	if p.protocol, known = protocols[p.Protocol]; !known {
		return fmt.Errorf("protocol: unknown %q", p.Protocol)
	}
	switch {
	case len(p.Addresses) == 0:
		return errors.New("addresses: there is none")
	case p.TimeoutMs <= 0:
		return errors.New("timeout_ms: it must be above 0")
	case p.ConnectionsPerHost < 1:
		return errors.New("connections_per_host: it must be at least 1")
	case p.protocol.scheme == "https" && tlsVersions[p.TLS] == 0:
		return fmt.Errorf("tls: unknown %q; it is 1.2 or 1.3", p.TLS)
	case p.protocol.wire == "h3" && p.TLS != "1.3":
		return errors.New("tls: QUIC has TLS 1.3 built in")
	case p.Users.Length() <= 0:
		return errors.New("users: neither a ramp nor steps")
	}
	return nil
}

func (p *Plan) prepared(each Item, document bool) (item, error) {
	method := each.Method
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequest(method, each.URL, nil)
	if err != nil {
		return item{}, err
	}
	where := request.URL
	if where.Scheme != p.protocol.scheme || where.Host == "" {
		return item{}, fmt.Errorf("%s: %s needs a URL with %s://", each.URL, p.Protocol, p.protocol.scheme)
	}
	request.Header = p.headers(each, document)
	return item{
		target:  target{where.Hostname(), portOf(where)},
		request: request,
		wire:    wire(request),
		fields:  fields(request),
		status:  each.Status,
	}, nil
}

func portOf(where *url.URL) string {
	if port := where.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[where.Scheme]
}
