package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/telemetry"
	"github.com/callnode/scheduler/scheduler/temporal"
)

// probeTimeout limits the time that a probe takes to send its request.
const probeTimeout = 5 * time.Second

// readyTimeout limits the wait for the store and Temporal, below the time that clients wait for an answer.
const readyTimeout = 2 * time.Second

// listen answers the requests of the worker's operators until stop is called: whether it lives (/health/live) and
// is ready (/health/ready), and its metrics (/metrics). If flag and setting are "", it does nothing.
func (p *program) listen(ctx context.Context, client *temporal.Client, address string, observer *telemetry.Observer) (stop func(), err error) {
	if address == "" {
		address = p.settings.Worker.Listen
	}
	if address == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, exitError{exitFailed, wording.Errorf("listening at %s: %w (choose another address with --listen)", address, withoutOp(err))}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, r *http.Request) {
		asked, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := errors.Join(p.service.Ready(asked), client.Ready(asked)); err != nil || ctx.Err() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.Handle("GET /metrics", observer.Handler())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: probeTimeout}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	fmt.Fprintln(p.Stdout, p.Language.Say("listening at %s", "http://"+listener.Addr().String()))
	return func() { _ = server.Close() }, nil
}

// withoutOp returns an error of the network without the words for the operation.
func withoutOp(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
