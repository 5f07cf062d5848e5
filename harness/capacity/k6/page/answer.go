package page

import (
	"io"
	"net/http"
)

// take reads an answer to its end and judges it.
func (each *item) take(response *http.Response, wire string) error {
	_, err := io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	switch {
	case err != nil:
		return err
	case wire != spoken(response):
		return failed(badProtocol, "%s was answered by %s", each.request.URL, response.Proto)
	case each.status != 0 && response.StatusCode != each.status, each.status == 0 && response.StatusCode >= 400:
		return failed(badStatus, "%s was answered with %d", each.request.URL, response.StatusCode)
	}
	return nil
}

func spoken(response *http.Response) string {
	switch {
	case response.ProtoMajor == 2:
		return "h2"
	case response.ProtoMajor == 3:
		return "h3"
	case response.ProtoMajor == 1 && response.ProtoMinor == 1:
		return "http/1.1"
	}
	return response.Proto
}
