package flowtest

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
)

// guard checks everything that an attempt does to the world: it returns the outputs of mocks, and denies calls
// that are neither mocked nor allowed. It is made for an attempt, and safe for concurrent use.
type guard struct {
	mocks []suite.Mock
	// recorded is the run that is recorded beside the flow, or nil.
	recorded *replay.Run
	allow    []string
	isLive   bool
	// records is set if missing takes are recorded now, and hasTakes if tests have recorded something, or are to.
	records, hasTakes bool

	mu     sync.Mutex
	uses   map[string]int        // how many replies of a mock were given at a place; guarded by mu
	asked  map[flow.Position]int // how many replies of mocks were asked for, by the places of the mocks; guarded by mu
	given  []string              // the paths of the uses that mocks gave the output of; guarded by mu
	failed error                 // the first thing that was denied, or that a mock has no reply for; guarded by mu
}

var _ scheduler.Interceptor = (*guard)(nil)

func newGuard(c *suite.Case, o *Options) *guard {
	return &guard{mocks: c.Mocks, allow: c.Allow, isLive: o.Mode == result.Live, uses: map[string]int{}, asked: map[flow.Position]int{}}
}

// problem returns why the run cannot be judged, or nil if it did only permitted things.
func (g *guard) problem() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed
}

// noteAsked notes that something has asked for the first n replies of a mock.
func (g *guard) noteAsked(m *suite.Mock, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked[m.Pos] = max(g.asked[m.Pos], n)
}

// refuse notes an error, and returns it as the output of the call.
func (g *guard) refuse(err error) iter.Seq2[calls.Chunk, error] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == nil {
		g.failed = err
	}
	return calls.Fail(err)
}

// Exec returns the reply of a mock, or an error for a call that is denied.
func (g *guard) Exec(ctx context.Context, use *scheduler.CallUse) iter.Seq2[calls.Chunk, error] {
	mock := g.findMock(use)
	if mock == nil {
		if g.allows(use) || g.mayBeRecorded(use) {
			return nil
		}
		return g.refuse(deniedError(use))
	}
	reply, err := g.nextReply(mock, use)
	if err != nil {
		return g.refuse(err)
	}
	if reply.Delay > 0 {
		timer := time.NewTimer(reply.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return calls.Fail(ctx.Err())
		}
	}
	switch {
	case reply.PassesOn && !g.allows(use):
		return g.refuse(deniedError(use))
	case reply.PassesOn:
		return nil
	case reply.Error != nil:
		return calls.Fail(calls.Errorf(calls.Kind(reply.Error.Kind), "%s", reply.Error.Message))
	}
	if problems := use.Info.Output.Check(reply.Value); problems != nil {
		return g.refuse(calls.Errorf(calls.Invalid, "%s: the mock does not fit the output of the call %s: %w", reply.Pos, use.Info.Name, problems).
			WithHint("scheduler calls %s shows what it puts out", use.Info.Name))
	}
	g.noteGiven(use.Path)
	return emit(reply.Value)
}

// noteGiven keeps the path of a use whose output came from a mock.
func (g *guard) noteGiven(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.given = append(g.given, path)
}

// markGiven marks the steps of a run that mocks gave the output of.
func (g *guard) markGiven(record *journal.RunState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, path := range g.given {
		if step := record.Step(path); step != nil {
			step.IsGiven = true
		}
	}
}

// emit puts a value out, and its text before it, as a call that streams does.
func emit(v value.Value) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		text, _ := v.Get("text")
		if said, ok := text.Str(); ok && said != "" && !yield(calls.TextChunk(said), nil) {
			return
		}
		yield(calls.Chunk{Data: &v}, nil)
	}
}

// findMock returns the mock of a use: a mock that names its place before one that names its call; nil if there is
// none.
func (g *guard) findMock(use *scheduler.CallUse) *suite.Mock {
	var ofCall *suite.Mock
	for i := range g.mocks {
		m := &g.mocks[i]
		if m.Step != "" && namesUse(m.Step, use) {
			return m
		}
		if m.Call != "" && m.Call == use.Info.Name && ofCall == nil {
			ofCall = m
		}
	}
	return ofCall
}

var (
	itemNumber  = regexp.MustCompile(`\[\d+\]`)
	pieceNumber = regexp.MustCompile(`-\d+(/|$)`)
)

// placeOf returns the place of a use without the numbers of items and pieces: for example, each[3]/inner becomes
// each/inner, and clerk/price-2/http-1, run by the second use of a tool, becomes clerk/price/http.
func placeOf(use *scheduler.CallUse) string {
	path := itemNumber.ReplaceAllString(use.Path, "")
	if use.Inside {
		path = pieceNumber.ReplaceAllString(path, "$1")
	}
	return path
}

// namesUse reports whether the step of a mock means this use: without the number of an item it means every item.
func namesUse(step string, use *scheduler.CallUse) bool {
	return step == use.Path || !use.Inside && step == placeOf(use)
}

// nextReply returns the reply for a use: by its item, else by how often its place has been there before.
func (g *guard) nextReply(m *suite.Mock, use *scheduler.CallUse) (*suite.Reply, error) {
	if !m.IsList {
		g.noteAsked(m, 1)
		return &m.Replies[0], nil
	}
	n := use.Item
	if n < 0 {
		key := fmt.Sprintf("%s %s %s", m.Step, m.Call, placeOf(use))
		if !use.Inside {
			key += " " + use.Path
		}
		g.mu.Lock()
		n = g.uses[key]
		g.uses[key]++
		g.mu.Unlock()
	}
	g.noteAsked(m, n+1)
	if n < len(m.Replies) {
		return &m.Replies[n], nil
	}
	return nil, calls.Errorf(calls.Missing, "%s: the mock has %d values, and %s asks for number %d", m.Pos, len(m.Replies), use.Path, n+1).
		WithHint("add one for each attempt or item, or give one value instead of a list")
}

// allowRequests is how a case allows the requests of all calls: allow: [http].
const allowRequests = "http"

// allows reports whether a call may do its work: it is contained in the run, or allowed. A step that saves a
// memory is contained, because the run has a memory of its own; if a tool saves one, a model has decided to write,
// and that is denied unless it is allowed.
func (g *guard) allows(use *scheduler.CallUse) bool {
	call := use.Info.Name
	staysInside := use.Info.IsContained || call == flow.CallFlow // flow: its steps are checked themselves
	writes := use.Info.Stores && isInTool(use)
	return staysInside && !writes || g.isAllowed(call)
}

// mayBeRecorded reports whether requests of a call to the outside may be recorded: then its tape decides, request
// by request. A tool that writes is denied all the same.
func (g *guard) mayBeRecorded(use *scheduler.CallUse) bool {
	return (g.recorded != nil || g.hasTakes) && !(use.Info.Stores && isInTool(use))
}

// isAllowed reports whether a call is allowed by its name, its plugin or its server: mcp.github for all of its tools.
func (g *guard) isAllowed(call string) bool {
	return g.isLive || slices.ContainsFunc(g.allow, func(name string) bool { return call == name || strings.HasPrefix(call, name+".") })
}

// isInTool reports whether a use belongs to a tool, or to a step of a flow run as a tool: no step of a flow has a
// number at the end.
func isInTool(use *scheduler.CallUse) bool { return use.Inside || pieceNumber.MatchString(use.Path) }

// deniedError returns that a call may not do its work in a test.
func deniedError(use *scheduler.CallUse) error {
	mock := placeOf(use)
	err := calls.Errorf(calls.Invalid, "the step %s runs %s, which may change the world, and a test does not let it", use.Path, use.Info.Name)
	if isInTool(use) { // has no step of the flow that a mock could name
		mock = callPrefix + use.Info.Name
		if use.Info.Stores {
			err = calls.Errorf(calls.Invalid, "the tool %s runs %s, which writes, and a test does not let tools write", use.Path, use.Info.Name)
		}
	}
	if use.Info.Stores {
		return err.WithHint("add mocks: {%s: {...}} to the case, or allow: [%s]", mock, use.Info.Name)
	}
	return err.WithHint("add mocks: {%s: {...}} to the case, record it with scheduler test --record, or add allow: [%s]", mock, use.Info.Name)
}

// callPrefix begins the names of mocks for every use of a call.
const callPrefix = "call:"

// guardedHTTP denies requests that calls send other than by the call http, for example to load documents or
// images.
type guardedHTTP struct {
	guard *guard
	inner calls.HTTP
}

// http returns inner, limited to the addresses that calls may reach.
func (g *guard) http(inner calls.HTTP) calls.HTTP { return guardedHTTP{g, inner} }

// Do sends an allowed request.
func (h guardedHTTP) Do(req *http.Request) (*http.Response, error) {
	if h.guard.records || h.guard.isAllowed(allowRequests) {
		return h.inner.Do(req)
	}
	err := calls.Errorf(calls.Invalid, "a request to %s is not allowed in a test", req.URL.Host).
		WithHint("mock the step that sends it, record it with scheduler test --record, or add allow: [http] to the case")
	h.guard.refuse(err)
	return nil, err
}
