package input

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/internal/transcript"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// callForeign runs a function of others: it has a deadline, and a panic is an error.
func (b *builder) callForeign(ctx context.Context, work func(context.Context) error) (err error) {
	within, cancel := context.WithTimeout(ctx, b.settings.timeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = wording.Errorf("it panicked: %v", r)
		}
	}()
	err = work(within)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = calls.Errorf(calls.Timeout, "it gave no answer within %s (settings.function_timeout)", b.settings.timeout)
	}
	return err
}

// newState returns the data for functions. The dialogue is fetched for them; the memories are fetched only when
// one asks.
func (b *builder) newState() plugins.State {
	d := b.dialogueOrWarn()
	vars := b.env.Vars
	known := make(map[string]json.RawMessage, len(vars.Resolved)+b.params.Variables.Len()+4)
	for _, name := range []string{"question", "summary", "facts", "inputs"} {
		known[name] = state[name](b.in, vars).AppendJSON(nil)
	}
	for name, v := range vars.Resolved {
		known[name] = v.AppendJSON(nil)
	}
	for name, v := range b.params.Variables.All() {
		known[name] = v.AppendJSON(nil)
	}
	s := plugins.State{
		Input: b.in.UserInput, History: d.turns, Vars: known,
		User: vars.Scope.User, Session: vars.Scope.Session, Language: b.in.Language, Now: b.in.Now,
		Retrieve: func(ctx context.Context) ([]plugins.Recalled, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			list, err := b.memories()
			found := make([]plugins.Recalled, len(list))
			for i, r := range list {
				found[i].Text = r.text
				if r.score != nil {
					found[i].Score = *r.score
				}
			}
			return found, err
		},
	}
	b.env.AttachServices(&s)
	return s
}

// fetchVariables gets the values of variables that are not fetched yet, in one batch per
// resolver. A failure is kept with the variable; only the end of ctx is an error.
func (b *builder) fetchVariables(ctx context.Context, variables []string) error {
	type batch struct {
		resolver plugins.Resolver
		roots    []string
	}
	var batches []*batch
	for _, name := range variables {
		s, ok := b.names.find(name)
		if _, done := b.fetched[s.root]; !ok || done {
			continue
		}
		b.fetched[s.root] = fetched{}
		switch {
		case s.known != nil:
			b.fetched[s.root] = fetched{value: *s.known}
		case s.resolver == nil:
			b.fetched[s.root] = fetched{value: b.recallMemory(s.root)}
		default:
			i := slices.IndexFunc(batches, func(other *batch) bool { return sameResolver(other.resolver, s.resolver) })
			if i < 0 {
				i = len(batches)
				batches = append(batches, &batch{resolver: s.resolver})
			}
			batches[i].roots = append(batches[i].roots, s.root)
		}
	}
	for _, batch := range batches {
		var values map[string]json.RawMessage
		err := b.callForeign(ctx, func(ctx context.Context) (err error) {
			values, err = batch.resolver.Resolve(ctx, b.state(), batch.roots)
			return err
		})
		for _, root := range batch.roots {
			b.fetched[root] = resolvedValue(values, root, err)
		}
		if ctx.Err() != nil {
			return causeOfEnd(ctx, err)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func resolvedValue(values map[string]json.RawMessage, root string, err error) fetched {
	if err != nil {
		return fetched{err: err}
	}
	text, ok := values[root]
	if !ok {
		return fetched{err: wording.Errorf("it has no value now")}
	}
	v, err := value.ParseJSON(text)
	return fetched{v, err}
}

// sameResolver compares resolvers; functions, which cannot be compared, are different.
func sameResolver(a, b plugins.Resolver) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

// recallMemory returns the value of a variable that comes from memory, and notes the parts that were left out.
func (b *builder) recallMemory(name string) value.Value {
	if name == shortTerm {
		d := b.dialogueOrWarn()
		if d.total > len(d.lines) {
			b.notes[name] = b.env.Say("the newest %d of %d utterances", len(d.lines), d.total)
		}
		return b.keepMemory(name, d.lines)
	}
	list, err := b.memories()
	if err != nil {
		b.warn("the long-term memory cannot be read: %v", err)
	}
	if given := len(b.params.Memory.long); given > len(list) {
		b.notes[name] = b.env.Say("the first %d of %d memories", len(list), given)
	}
	lines := make([]calls.Traced, len(list))
	for i, r := range list {
		lines[i] = b.settings.tracedMemory(r, b.sourceOfMemory(r, i))
	}
	return b.keepMemory(name, lines)
}

// keepMemory keeps the text of a variable that comes from memory, and returns it.
func (b *builder) keepMemory(name string, lines []calls.Traced) value.Value {
	b.memoryTexts[name] = calls.JoinTraced(lines, "\n")
	return value.OfString(b.memoryTexts[name].Text)
}

// dialogueOrWarn returns the dialogue, empty with a warning if it cannot be read.
func (b *builder) dialogueOrWarn() dialogue {
	d, err := b.dialogue()
	if err != nil {
		b.warn("the short-term memory cannot be read: %v", err)
	}
	return d
}

// loadDialogue reads the short-term memory, given or of the store, within its bounds:
// retrieve_short_term_memory of the memory_management_module in the documents.
func (b *builder) loadDialogue(ctx context.Context) (d dialogue, err error) {
	turns := b.params.Memory.short
	if b.settings.MaxTurns == 0 {
		return dialogue{total: len(turns)}, nil
	}
	if !b.params.Memory.shortGiven {
		err = b.callForeign(ctx, func(ctx context.Context) (err error) {
			b.before, err = b.env.ReadDialogue(ctx, b.settings.MaxTurns, b.in.UserInput)
			turns, b.spokenAt = b.before.AsTurns()
			return err
		})
		if err != nil {
			return dialogue{}, err
		}
	}
	// The bounds apply to the text in the prompt, roles and all.
	trimmer := transcript.NewTrimmer(b.settings.MaxTurns, b.settings.MaxTokens, b.env.Tokens)
	lines := make([]calls.Traced, len(turns))
	for i, t := range turns {
		lines[i] = b.settings.tracedTurn(t, b.sourceOfTurn(i))
		trimmer.Add(plugins.Turn{Role: t.Role, Content: lines[i].Text})
	}
	from := len(turns) - trimmer.Len()
	d = dialogue{turns: turns[from:], lines: lines[from:], total: len(turns)}
	for i, t := range trimmer.Turns() {
		d.lines[i] = d.lines[i].TruncatedTo(t.Content)
	}
	return d, nil
}

func (b *builder) loadMemories(ctx context.Context) (list []recalledMemory, err error) {
	limit := b.settings.MaxMemories
	if b.params.Memory.longGiven {
		return b.params.Memory.long[:min(limit, len(b.params.Memory.long))], nil
	}
	if limit == 0 || strings.TrimSpace(b.in.UserInput) == "" { // nothing to look for
		return nil, nil
	}
	err = b.callForeign(ctx, func(ctx context.Context) error {
		found, err := b.env.Memory.Retrieve(ctx, b.env.Vars.Scope, b.in.UserInput, limit)
		for _, r := range found {
			list = append(list, recalledMemory{r.Text, &r.Score, r.ID})
		}
		return err
	})
	return list, err
}

// fetchedValue returns the value of a variable that was fetched.
func (b *builder) fetchedValue(name string) (value.Value, error) {
	s, ok := b.names.find(name)
	if !ok {
		return value.Value{}, wording.Errorf("it is unknown")
	}
	f := b.fetched[s.root]
	if f.err != nil {
		return f.value, f.err
	}
	v, ok := f.value.At(s.path)
	if !ok {
		return v, wording.Errorf("%s has no %s", s.root, dottedPath(s.path))
	}
	return v, nil
}

// sourceOfTurn returns the source of an utterance by its number: in the parameters, or else in the dialogue before
// the question.
func (b *builder) sourceOfTurn(i int) turnSource {
	if b.params.Memory.shortGiven {
		return b.params.Memory.shortSources[i]
	}
	at := b.spokenAt[i]
	return turnSource{b.before.Text(at), b.before.Origin(at, "/role"), b.before.Origin(at, "/timestamp")}
}

// sourceOfMemory returns the origin of a memory: by its number in the parameters, or else in the store.
func (b *builder) sourceOfMemory(r recalledMemory, i int) memorySource {
	if b.params.Memory.longGiven {
		return b.params.Memory.longSources[i]
	}
	o := calls.Origin{Kind: calls.OriginMemory, Name: cmp.Or(r.id, "long_term")}
	return memorySource{tracedWhole(o, r.text), o}
}

// tracedWhole returns a text that is all of its source.
func tracedWhole(o calls.Origin, text string) calls.Traced {
	if text == "" {
		return calls.Traced{}
	}
	o.End = len(text)
	return calls.Traced{Text: text, Origins: []calls.Origin{o}}
}

// causeOfEnd returns the error of a step that ended while a foreign function ran: the function's own error if it
// wraps the cause, because it names the function that used up the time.
func causeOfEnd(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return cause
	}
	return err
}
