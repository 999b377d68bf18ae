package mcp

import (
	"context"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Host has the servers of the settings. [Open] makes one for the life of a process, and
// [Host.Close] ends it with all that it has started. It is safe for concurrent use.
type Host struct {
	options Options

	mu       sync.Mutex // guards the fields below
	lock     *Lock
	sessions map[string]*session // by the name of the server
	isClosed bool
}

// Open reads the lock file. Nothing is started.
func Open(o Options) (*Host, error) {
	lock, err := readLock(o.LockFile)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	return &Host{options: o, lock: lock, sessions: map[string]*session{}}, nil
}

// findServer returns a server of the settings. The error of an unknown one is of kind NotFound.
func (h *Host) findServer(name string) (*Server, error) {
	var names []string
	for i := range h.options.Servers {
		if h.options.Servers[i].Name == name {
			return &h.options.Servers[i], nil
		}
		names = append(names, h.options.Servers[i].Name)
	}
	err := calls.Errorf(calls.NotFound, "no MCP server %q is in the settings", name)
	if hint := value.DidYouMean(name, names); hint != "" {
		return nil, err.WithHint("%s", hint)
	}
	return nil, err.WithHint("add it under mcp.servers in scheduler.yaml")
}

// Close ends all that was started, in bounded time.
func (h *Host) Close() error {
	h.mu.Lock()
	all := h.sessions
	h.sessions, h.isClosed = map[string]*session{}, true
	h.mu.Unlock()
	var ended sync.WaitGroup
	for _, s := range all {
		ended.Go(s.close)
	}
	ended.Wait()
	return nil
}

var errClosed = wording.Errorf("the program ends")

// acquireSession returns the working session with a server, or begins one.
func (h *Host) acquireSession(ctx context.Context, s *Server) (*session, error) {
	h.mu.Lock()
	live := h.sessions[s.Name]
	h.mu.Unlock()
	if live != nil && live.isAlive() {
		return live, nil
	}
	fresh, err := h.options.connectServer(ctx, s)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isClosed {
		go fresh.close()
		return nil, s.errorf(calls.Canceled, "%w", errClosed)
	}
	other := h.sessions[s.Name]
	if other != nil && other != live && other.isAlive() { // another step was faster
		go fresh.close()
		return other, nil
	}
	if live != nil {
		go live.close()
	}
	h.sessions[s.Name] = fresh
	return fresh, nil
}
