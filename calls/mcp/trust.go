package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Register adds a call for each trusted tool of the settings' servers.
func (h *Host) Register(r *calls.Registry) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.options.Servers {
		s := &h.options.Servers[i]
		locked := h.lock.findServer(s.Name)
		if locked == nil || locked.Source != s.trustedSource() {
			continue
		}
		for j := range locked.Tools {
			if !s.allowsTool(locked.Tools[j].Name) {
				continue
			}
			if err := r.AddCall(h.newDefinition(s, &locked.Tools[j])); err != nil {
				return err
			}
		}
	}
	r.AddCheck(h.Check)
	return nil
}

// Check returns why a call of a tool cannot be used; nil if it can, and for other calls.
func (h *Host) Check(name string) error {
	rest, isOurs := strings.CutPrefix(name, Prefix)
	if !isOurs {
		return nil
	}
	server, tool, _ := strings.Cut(rest, ".")
	s, err := h.findServer(server)
	if err != nil {
		return err
	}
	h.mu.Lock()
	locked := h.lock.findServer(server)
	h.mu.Unlock()
	switch {
	case locked == nil:
		return calls.Errorf(calls.Invalid, "the MCP server %s is not trusted", server).WithHint("look at what it offers: scheduler mcp trust %s", server)
	case locked.Source != s.trustedSource():
		return calls.Errorf(calls.Invalid, "the settings of the MCP server %s are not those that were trusted", server).WithHint("look at what it offers: scheduler mcp trust %s", server)
	case locked.findTool(tool) == nil:
		err := calls.Errorf(calls.NotFound, "the MCP server %s has no trusted tool %q", server, value.Truncate(tool, 80))
		if hint := value.DidYouMean(tool, locked.toolNames()); hint != "" {
			return err.WithHint("%s", hint)
		}
		return err.WithHint("it has %s", value.ListNames(locked.toolNames()))
	case !s.allowsTool(tool):
		return calls.Errorf(calls.Invalid, "the settings do not let flows use the tool %s of the MCP server %s", tool, server).
			WithHint("add it to tools of the server in scheduler.yaml")
	}
	return nil
}

// Review lists the tools that a server offers now, for a person to look at. All its texts come from the server.
type Review struct {
	Server *Server
	// About is the name by which the server introduces itself.
	About string
	Tools []Tool
	// LeftOut are tools that cannot be used, and why.
	LeftOut []wording.Text
	// Added, Removed and Changed are the differences from the trusted tools; nil if nothing is trusted.
	Added, Removed []string
	Changed        []wording.Text
	// WasTrusted is true if the server is in the lock file.
	WasTrusted bool
}

// Review starts a server, or connects to it, and returns its tools.
func (h *Host) Review(ctx context.Context, name string) (*Review, error) {
	s, err := h.findServer(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	live, err := h.options.connectServer(ctx, s)
	if err != nil {
		return nil, err
	}
	defer live.close()
	review := &Review{Server: s, About: live.about, LeftOut: live.leftOut}
	for _, t := range live.tools {
		if s.allowsTool(t.Name) {
			review.Tools = append(review.Tools, *t)
		}
	}
	slices.SortFunc(review.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range s.Tools {
		if live.tools[name] == nil {
			review.LeftOut = append(review.LeftOut, wording.Say("the server has no tool %s, which the settings name", name))
		}
	}
	h.mu.Lock()
	locked := h.lock.findServer(name)
	h.mu.Unlock()
	review.compareWith(locked)
	return review, nil
}

// compareWith finds the differences from the trusted tools.
func (r *Review) compareWith(locked *LockedServer) {
	if locked == nil {
		return
	}
	r.WasTrusted = true
	for i := range r.Tools {
		was := locked.findTool(r.Tools[i].Name)
		if was == nil {
			r.Added = append(r.Added, r.Tools[i].Name)
		} else if changes := was.changesIn(&r.Tools[i]); changes.En != "" {
			r.Changed = append(r.Changed, wording.Say("%s (%s)", r.Tools[i].Name, changes))
		}
	}
	for _, name := range locked.toolNames() {
		if !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == name }) {
			r.Removed = append(r.Removed, name)
		}
	}
}

// Trust writes the tools that a person has looked at to the lock file.
func (h *Host) Trust(r *Review) (*LockedServer, error) {
	entry := LockedServer{Name: r.Server.Name, Source: r.Server.trustedSource(), Tools: r.Tools}
	return &entry, h.rewriteLock(entry, true)
}

// Untrust removes a server from the lock file. If the server is not in it, the error is of kind NotFound.
func (h *Host) Untrust(name string) error {
	h.mu.Lock()
	locked := h.lock.findServer(name)
	h.mu.Unlock()
	if locked == nil {
		return calls.Errorf(calls.NotFound, "the MCP server %q is not trusted", name)
	}
	return h.rewriteLock(LockedServer{Name: name}, false)
}

// rewriteLock changes the lock file.
func (h *Host) rewriteLock(entry LockedServer, isTrusted bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	lock, err := readLock(h.options.LockFile) // another process may have changed it
	if err != nil {
		return err
	}
	next := lock.withServer(entry, isTrusted)
	if err := next.writeTo(h.options.LockFile); err != nil {
		return err
	}
	h.lock = next
	return nil
}

// Status is a server of the settings in a list.
type Status struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	// State is trusted, changed (its settings), or untrusted.
	State string   `json:"state"`
	Tools []string `json:"tools"`
}

// List returns the servers of the settings.
func (h *Host) List() []Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []Status{}
	for i := range h.options.Servers {
		s := &h.options.Servers[i]
		one := Status{Name: s.Name, Source: s.trustedSource(), State: "untrusted", Tools: []string{}}
		if locked := h.lock.findServer(s.Name); locked != nil {
			one.State = "changed"
			if locked.Source == s.trustedSource() {
				one.State, one.Tools = "trusted", locked.toolNames()
			}
		}
		list = append(list, one)
	}
	return list
}
