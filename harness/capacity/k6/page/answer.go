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
	}
	return each.judge(response.StatusCode)
}

// judge says whether the status is what the page is made of.
func (each *item) judge(status int) error {
	if each.status != 0 && status != each.status || each.status == 0 && status >= 400 {
		return failed(badStatus, "%s was answered with %d", each.request.URL, status)
	}
	return nil
}

func spoken(response *http.Response) string {
	switch {
	case response.ProtoMajor == 3:
		return "h3"
	case response.ProtoMajor == 1 && response.ProtoMinor == 1:
		return "http/1.1"
	}
	return response.Proto
}
