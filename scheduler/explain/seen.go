package explain

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Seen returns the sources whose text is, or may be, in a prompt, as approvals and policies name them, sorted: user (an input, the question,
// the conversation before it, or an answer of a person), file, memory, world_book, model, clock, flow (words of the flow file), anywhere
// (it is not known), the name of an input such as inputs.city, step:ID, call:NAME and mcp:SERVER. For example the answer of a step fetch that
// uses the call http gives call:http and step:fetch.
func Seen(e *Explanation) []string {
	seen := seenSources{}
	e.eachPiece(func(p *Piece) { seen.addAll(p.Sources) })
	return slices.Sorted(maps.Keys(seen))
}

// SeenByStep returns the sources that the parameters of a step were computed from, named as [Seen] does. The step may be about to
// run: its event step.input is enough. The error is of kind NotFound if the run has not begun the step.
func SeenByStep(ctx context.Context, f *flow.Flow, record *journal.RunState, step string, counter llm.Counter, earlier ...EarlierFlow) ([]string, error) {
	got := record.Step(step)
	if got == nil {
		return nil, notRun(f, record, step)
	}
	x := newExplainer(ctx, f, record, counter, earlier)
	at := x.siteOf(got)
	seen := seenSources{}
	for _, p := range x.explainGivens(at, 0) {
		seen.addAll(p.Sources)
	}
	if at.step == nil {
		seen["anywhere"] = true
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// seenSources is a set of the words that [Seen] returns.
type seenSources map[string]bool

func (seen seenSources) addAll(sources []Source) {
	for _, s := range sources {
		seen.add(s)
		seen.addAll(s.Origins)
		seen.addAll(s.Possible)
	}
}

func (seen seenSources) add(s Source) {
	switch s.Kind {
	case SourceInput:
		seen["user"], seen[s.Name] = true, true
	case SourceConversation, SourceUser:
		seen["user"] = true
	case SourceFlow, SourceComputed, SourceText, SourceParams:
		seen["flow"] = true
	case SourcePart:
		if slices.Contains([]string{"file", "memory", "world_book"}, s.Part) {
			seen[s.Part] = true
		}
	case SourceTool:
		seen.addCall(s.Name)
	case SourceName:
		seen[s.Name] = true
	case SourceFile, SourceMemory, SourceModel, SourceClock:
		seen[string(s.Kind)] = true
	case SourceStep:
	default: // [anywhere]
		seen["anywhere"] = true
	}
	if s.Path != "" {
		seen["file"] = true
	}
	if s.Step != "" {
		seen["step:"+s.Step] = true
	}
	if s.Call != "" {
		seen.addCall(s.Call)
	}
}

// addCall adds a call, of an MCP server the server.
func (seen seenSources) addCall(name string) {
	if tool, isMCP := strings.CutPrefix(name, "mcp."); isMCP {
		server, _, _ := strings.Cut(tool, ".")
		seen["mcp:"+server] = true
		return
	}
	seen["call:"+name] = true
}
