package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// request is the server's data about a request. ServeHTTP makes it; the handlers read it from the context, on the
// goroutine of the request.
type request struct {
	id     string
	http   *http.Request
	rc     *http.ResponseController
	caller *caller // nil: not logged in
	run    string  // for the audit
	user   string  // for the audit: the user that a run was begun for, with the scope runs:as
	route  string
	// decided are decisions about approvals, for the audit, for example " refund=approved".
	decided string
	status  int
	// isBroken is set once the body has broken off, or was not framed as HTTP wants it.
	isBroken bool
}

// bodyReader reads the body of a request, and notes there that it is broken.
type bodyReader struct {
	io.ReadCloser
	request *request
}

// Read reads from the body.
func (b bodyReader) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	var tooLarge *http.MaxBytesError
	var late net.Error
	isLate := errors.As(err, &late) && late.Timeout()
	if err != nil && err != io.EOF && !isLate && !errors.As(err, &tooLarge) {
		b.request.isBroken = true
	}
	return n, err
}

type requestKey struct{}

// requestOf returns the request of a context that a handler got.
func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	if r == nil {
		return &request{}
	}
	return r
}

// addressOf returns the address of the client.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// writeTimeout limits the time in which a client must read a part of an answer.
const writeTimeout = 10 * time.Second

// recorder notes the status of an answer, and limits the time for reading it.
type recorder struct {
	http.ResponseWriter
	request *request
	rc      *http.ResponseController
}

// WriteHeader notes the status. A broken body is the fault of the client, but the library treats it as the
// server's.
func (w *recorder) WriteHeader(status int) {
	if status == http.StatusInternalServerError && w.request.isBroken {
		status = http.StatusBadRequest
	}
	if w.request.status == 0 && status >= http.StatusOK {
		w.request.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write waits a while for the client to take the bytes.
func (w *recorder) Write(b []byte) (int, error) {
	if w.request.status == 0 {
		w.request.status = http.StatusOK
	}
	_ = w.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // not all connections have one
	return w.ResponseWriter.Write(b)
}

// Unwrap returns the writer below.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
