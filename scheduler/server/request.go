package server

import (
	"context"
	"net"
	"net/http"
)

// request is what the server knows of a request. ServeHTTP makes it; the handlers read it
// from the context, on the goroutine of the request.
type request struct {
	id     string
	http   *http.Request
	rc     *http.ResponseController
	caller *caller // nil: no one is logged in
	run    string  // for the audit
	route  string
	status int
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
