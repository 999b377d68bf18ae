package mcp

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// patientTransport answers everything that it was asked before it ends: a client may write its requests and end its output at once,
// for example `scheduler mcp < requests.jsonl`. The library alone would cancel them.
type patientTransport struct{ sdk.Transport }

// Connect returns a connection that reports the end of the input only after the last answer.
func (t patientTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &patientConnection{
		Connection: inner, closed: make(chan struct{}), changed: make(chan struct{}, 1), unanswered: map[jsonrpc.ID]bool{}, asked: map[jsonrpc.ID]bool{},
	}, nil
}

// patientConnection is a connection of a [patientTransport]. One goroutine reads from it; writing and closing are safe for concurrent use.
type patientConnection struct {
	sdk.Connection
	// hasEnded: the client sends nothing more. It belongs to the reader.
	hasEnded bool
	closed   chan struct{}
	close    sync.Once
	// changed gets a value when one of the fields below has changed.
	changed chan struct{}

	mu sync.Mutex

	// The following fields are guarded by mu.

	// unanswered are the requests of the client, asked the requests to it.
	unanswered, asked map[jsonrpc.ID]bool
}

// errInputEnded answers requests to the client after the end of its output: it cannot answer.
var errInputEnded = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client has ended its output"}

// Read returns the next message. After the last one it waits until all requests are answered; a request to the client meanwhile
// fails.
func (c *patientConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	if !c.hasEnded {
		msg, err := c.Connection.Read(ctx)
		if !errors.Is(err, io.EOF) {
			c.noteRead(msg)
			return msg, err
		}
		c.hasEnded = true
	}
	for {
		refused, isIdle := c.takeAsked()
		switch {
		case refused != nil:
			return refused, nil
		case isIdle:
			return nil, io.EOF
		}
		select {
		case <-c.changed:
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// noteRead notes a request, or the answer to one.
func (c *patientConnection) noteRead(msg jsonrpc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch msg := msg.(type) {
	case *jsonrpc.Request:
		if msg.IsCall() {
			c.unanswered[msg.ID] = true
		}
	case *jsonrpc.Response:
		delete(c.asked, msg.ID)
	}
}

// takeAsked returns the failure of a request to the client; nil if there is none. isIdle reports whether all its own are answered.
func (c *patientConnection) takeAsked() (refused jsonrpc.Message, isIdle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.asked {
		delete(c.asked, id)
		return &jsonrpc.Response{ID: id, Error: errInputEnded}, false
	}
	return nil, len(c.unanswered) == 0
}

// Write sends a message.
func (c *patientConnection) Write(ctx context.Context, msg jsonrpc.Message) error {
	if request, ok := msg.(*jsonrpc.Request); ok && request.IsCall() {
		c.update(func() { c.asked[request.ID] = true })
	}
	err := c.Connection.Write(ctx, msg)
	if answer, ok := msg.(*jsonrpc.Response); ok { // also if it could not be written
		c.update(func() { delete(c.unanswered, answer.ID) })
	}
	return err
}

// update changes the requests, and wakes the reader.
func (c *patientConnection) update(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default: // it is awake
	}
}

// Close ends the connection, answered or not.
func (c *patientConnection) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
