package page

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/quic-go/quic-go"
	"golang.org/x/net/http2"
)

// Kinds of failures, as the lines name them.
const (
	timedOut     = "timeout"
	noConnection = "connect"
	tlsFailed    = "tls"
	noName       = "dns"
	wasReset     = "reset"
	wasClosed    = "closed"
	badStatus    = "status"
	badProtocol  = "protocol"
)

// A failure is an error with its kind.
type failure struct {
	kind string
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failed(kind, format string, values ...any) error {
	return &failure{kind, fmt.Errorf(format, values...)}
}

// kindOf sorts an error of a connection or of an answer that is not one of ours.
func kindOf(err error) string {
	var own *failure
	if errors.As(err, &own) {
		return own.kind
	}
	for _, rule := range rules {
		if rule.holds(err) {
			return rule.kind
		}
	}
	return badProtocol
}

var rules = []struct {
	kind  string
	holds func(error) bool
}{
	{timedOut, func(err error) bool {
		return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
			errors.Is(err, syscall.ETIMEDOUT) || is[*quic.IdleTimeoutError](err)
	}},
	{noConnection, func(err error) bool {
		var transport *quic.TransportError
		return is[*quic.HandshakeTimeoutError](err) ||
			errors.As(err, &transport) && transport.ErrorCode == quic.ConnectionRefused
	}},
	{wasReset, func(err error) bool {
		return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || is[http2.StreamError](err) ||
			is[*quic.StreamError](err) || is[*quic.StatelessResetError](err)
	}},
	{tlsFailed, func(err error) bool {
		var transport *quic.TransportError
		return is[*tls.CertificateVerificationError](err) || is[tls.AlertError](err) ||
			errors.As(err, &transport) && transport.ErrorCode.IsCryptoError()
	}},
	{wasClosed, func(err error) bool {
		return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
			is[http2.GoAwayError](err) || is[*quic.ApplicationError](err)
	}},
}

func is[Kind error](err error) bool {
	var found Kind
	return errors.As(err, &found)
}
