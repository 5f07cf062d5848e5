package page

import (
	"bytes"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// What Chromium sends where the plan does not tell.
const (
	userAgent       = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
	acceptLanguage  = "en-US,en;q=0.9"
	acceptDocuments = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8," +
		"application/signed-exchange;v=b3;q=0.7"
	acceptImages = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
)

// By the end of the path: what the browser takes the object for, what it accepts, how urgent it is.
var kinds = map[string][3]string{
	".css": {"style", "text/css,*/*;q=0.1", "u=0"},
	".js":  {"script", "*/*", "u=1"},
	".png": {"image", acceptImages, "i"}, ".jpg": {"image", acceptImages, "i"}, ".jpeg": {"image", acceptImages, "i"},
	".gif": {"image", acceptImages, "i"}, ".webp": {"image", acceptImages, "i"}, ".svg": {"image", acceptImages, "i"},
	".avif": {"image", acceptImages, "i"}, ".ico": {"image", acceptImages, "u=1, i"},
	".woff": {"font", "*/*", "u=0"}, ".woff2": {"font", "*/*", "u=0"},
}

// headers are those of the plan; else those of a Chromium.
func (p *Plan) headers(each Item, document bool) http.Header {
	made := http.Header{}
	for name, value := range each.Headers {
		made.Set(name, value)
	}
	if len(made) == 0 {
		for name, value := range p.usual(each, document) {
			made.Set(name, value)
		}
	}
	return made
}

func (p *Plan) usual(each Item, document bool) map[string]string {
	secure := p.protocol.scheme == "https"
	made := map[string]string{"User-Agent": userAgent, "Accept-Language": acceptLanguage, "Accept-Encoding": "gzip, deflate"}
	if secure {
		made["Accept-Encoding"] = "gzip, deflate, br, zstd"
		made["Sec-Ch-Ua"] = `"Chromium";v="156", "Not_A Brand";v="24"`
		made["Sec-Ch-Ua-Mobile"] = "?0"
		made["Sec-Ch-Ua-Platform"] = `"Linux"`
	}
	if document {
		made["Accept"] = acceptDocuments
		made["Upgrade-Insecure-Requests"] = "1"
		if secure {
			maps.Copy(made, map[string]string{"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate",
				"Sec-Fetch-Site": "none", "Sec-Fetch-User": "?1", "Priority": "u=0, i"})
		}
		return made
	}
	location, _, _ := strings.Cut(each.URL, "?")
	kind, known := kinds[strings.ToLower(path.Ext(location))]
	if !known {
		kind = [3]string{"empty", "*/*", "u=1, i"}
	}
	made["Accept"] = kind[1]
	made["Referer"] = p.Document
	if secure {
		maps.Copy(made, map[string]string{"Sec-Fetch-Dest": kind[0], "Sec-Fetch-Mode": "no-cors",
			"Sec-Fetch-Site": "same-origin", "Priority": kind[2]})
	}
	if p.protocol.wire == "http/1.1" {
		delete(made, "Priority")
	}
	return made
}

// wire is a request as HTTP/1.1 has it, made once and sent by all.
func wire(request *http.Request) []byte {
	var made bytes.Buffer
	made.WriteString(request.Method + " " + request.URL.RequestURI() + " HTTP/1.1\r\n")
	made.WriteString("Host: " + request.URL.Host + "\r\nConnection: keep-alive\r\n")
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		made.WriteString("Content-Length: 0\r\n")
	}
	for _, name := range slices.Sorted(maps.Keys(request.Header)) {
		made.WriteString(name + ": " + request.Header.Get(name) + "\r\n")
	}
	made.WriteString("\r\n")
	return made.Bytes()
}

// fields is the same request as HTTP/2 has it, in the order of Chromium, which keeps no path in the table of headers.
func fields(request *http.Request) []hpack.HeaderField {
	made := []hpack.HeaderField{
		{Name: ":method", Value: request.Method},
		{Name: ":authority", Value: request.URL.Host},
		{Name: ":scheme", Value: request.URL.Scheme},
		{Name: ":path", Value: request.URL.RequestURI(), Sensitive: true},
	}
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		made = append(made, hpack.HeaderField{Name: "content-length", Value: "0"})
	}
	for _, name := range slices.Sorted(maps.Keys(request.Header)) {
		if !ofTheConnection[name] {
			made = append(made, hpack.HeaderField{Name: strings.ToLower(name), Value: request.Header.Get(name)})
		}
	}
	return made
}

// What HTTP/2 has other means for (RFC 9113, 8.2.2), and what is told above.
var ofTheConnection = map[string]bool{
	"Connection": true, "Proxy-Connection": true, "Keep-Alive": true, "Transfer-Encoding": true, "Upgrade": true,
	"Host": true, "Content-Length": true,
}
