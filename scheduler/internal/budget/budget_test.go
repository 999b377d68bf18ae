package budget_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/internal/budget"
)

// script is a provider whose answer is fixed.
type script struct {
	deltas []llm.Delta
	err    error
	sent   int // requests
	read   int // deltas that were taken
}

func (s *script) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.sent++
		for _, d := range s.deltas {
			s.read++
			if !yield(d, nil) {
				return
			}
		}
		if s.err != nil {
			yield(llm.Delta{}, s.err)
		}
	}
}

// observer counts the notices it gets.
type observer struct{ sent, answered, estimated, ended, failed int }

func (o *observer) RequestSent(context.Context, *llm.Candidate, *llm.Request) func() {
	o.sent++
	return func() { o.answered++ }
}

func (o *observer) RequestEnded(_ *llm.Candidate, _ *llm.Request, cost budget.Cost, failure error) {
	o.ended++
	if cost.Estimated {
		o.estimated++
	}
	if failure != nil {
		o.failed++
	}
}

// bytes counts a token for each byte.
type bytes struct{}

func (bytes) Count(text string) int { return len(text) }

func request(text string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.Message(fmt.Sprintf(`{"role":"user","content":%q}`, text))}}
}

// answer takes a whole answer.
func answer(ctx context.Context, m *budget.Model) (text string, err error) {
	for d, err := range m.Chat(ctx, request("question")) {
		if err != nil {
			return text, err
		}
		text += d.Text
	}
	return text, nil
}

func newModel(p *script, limit int64) (*budget.Model, *observer) {
	o := &observer{}
	m := &budget.Model{Candidate: llm.Candidate{Provider: p, Tokens: bytes{}}, Meter: &budget.Meter{}, Observer: o, Held: newHolder(1 << 20)}
	m.Meter.SetLimit(limit)
	return m, o
}

// newHolder returns the holder of a run that may hold so many bytes.
func newHolder(maxBytes int64) *budget.Holder {
	var h budget.Holder
	h.SetUp(budget.NewBounds(1000, maxBytes), nil)
	return &h
}

// TestMeters: spending in a meter counts for all meters around it.
func TestMeters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "meters")
		meters, outer := make([]budget.Meter, n), make([]int, n)
		want := make([]int, n)
		for i := range meters {
			outer[i] = -1
			if i > 0 {
				outer[i] = rapid.IntRange(-1, i-1).Draw(t, "outer")
			}
			if outer[i] >= 0 {
				meters[i].SetOuter(&meters[outer[i]])
			}
		}
		for range rapid.IntRange(0, 10).Draw(t, "requests") {
			at, in, out := rapid.IntRange(0, n-1).Draw(t, "at"), rapid.IntRange(0, 100).Draw(t, "in"), rapid.IntRange(0, 100).Draw(t, "out")
			p := &script{deltas: []llm.Delta{{Text: "a"}, {Usage: &llm.Usage{InputTokens: in, OutputTokens: out}}}}
			m, _ := newModel(p, 0)
			m.Meter = &meters[at]
			if _, err := answer(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			for i := at; i >= 0; i = outer[i] {
				want[i] += in + out
			}
		}
		for i := range meters {
			if got := meters[i].Usage().Total(); got != want[i] {
				t.Errorf("meter %d has %d tokens, want %d", i, got, want[i])
			}
		}
	})
}

// TestCosts: the provider's count applies; else the cost is estimated, unless the request was refused.
func TestCosts(t *testing.T) {
	asked := llm.RequestTokens(bytes{}, request("question"))
	text := strings.Repeat("t", 100)
	for name, c := range map[string]struct {
		script    script
		want      int
		estimated int
	}{
		"told":            {script{deltas: []llm.Delta{{Text: text}, {Usage: &llm.Usage{InputTokens: 3, OutputTokens: 4}}}}, 7, 0},
		"told first":      {script{deltas: []llm.Delta{{Usage: &llm.Usage{InputTokens: 3}}, {Text: text}}}, 3, 0},
		"not told":        {script{deltas: []llm.Delta{{Text: text}}}, asked + 100, 1},
		"reasoning":       {script{deltas: []llm.Delta{{Reasoning: text}}}, asked + 100, 1},
		"refused":         {script{err: &llm.Error{Status: 400}}, 0, 0},
		"not reached":     {script{err: &llm.Error{Unsent: true}}, 0, 0},
		"no provider":     {script{err: calls.ErrNoProvider}, 0, 0},
		"broken off":      {script{deltas: []llm.Delta{{Text: text}}, err: errors.New("cut")}, asked + 100, 1},
		"failed at first": {script{err: errors.New("cut")}, asked, 1},
	} {
		m, o := newModel(&c.script, 0)
		_, _ = answer(t.Context(), m)
		if got := m.Meter.Usage().Total(); got != c.want || o.estimated != c.estimated || o.sent != 1 {
			t.Errorf("%s: %d tokens and %+v, want %d and %d estimated", name, got, *o, c.want, c.estimated)
		}
	}
}

// TestLimit: a request that does not fit is not sent, and an answer that outgrows the budget
// is cut, wherever the budget is.
func TestLimit(t *testing.T) {
	asked := int64(llm.RequestTokens(bytes{}, request("question")))
	p := &script{deltas: []llm.Delta{{Text: "a"}}}
	m, o := newModel(p, asked)
	if _, err := answer(t.Context(), m); calls.KindOf(err) != calls.Budget || p.sent != 0 || o.sent != 0 {
		t.Errorf("a request as long as the budget: %v, sent %d times", err, p.sent)
	}
	p = &script{}
	for range 100 {
		p.deltas = append(p.deltas, llm.Delta{Text: strings.Repeat("x", 512)})
	}
	inner, _ := newModel(p, 0)
	var outer budget.Meter
	outer.SetLimit(asked + 2000)
	inner.Meter.SetOuter(&outer)
	text, err := answer(t.Context(), inner)
	if calls.KindOf(err) != calls.Budget || len(text) > 2512 || p.read > 5 {
		t.Errorf("%d bytes of %d deltas passed: %v", len(text), p.read, err)
	}
	if got := outer.Usage().Total(); got > int(asked)+2560 || got < int(asked)+2000 {
		t.Errorf("%d tokens count", got)
	}
	before := p.sent
	if _, err := answer(t.Context(), inner); calls.KindOf(err) != calls.Budget || p.sent != before {
		t.Errorf("a budget that is used up: %v", err)
	}
}

// TestAnswerIsHeld: an answer counts as held by the run until it ends.
func TestAnswerIsHeld(t *testing.T) {
	p := &script{deltas: []llm.Delta{{Text: strings.Repeat("x", 600)}}}
	m, _ := newModel(p, 0)
	m.Held = newHolder(1000)
	for range 3 { // one after the other fits
		if _, err := answer(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	p.deltas = append(p.deltas, p.deltas[0], p.deltas[0])
	if text, err := answer(t.Context(), m); !budget.IsExceeded(err) || len(text) != 600 {
		t.Errorf("%d bytes of too long an answer: %v", len(text), err)
	}
}

// TestBounds: a bound is met once the run has more than it allows, in the holder and in all around it, and for
// good; released memory is free again.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 100).Draw(t, "limit")
		bounds := budget.NewBounds(1000, limit)
		var run, other, step budget.Holder
		run.SetUp(bounds, nil)
		other.SetUp(bounds, &run)
		step.SetUp(bounds, &run)
		held, exceeded := int64(0), false
		for range rapid.IntRange(1, 20).Draw(t, "outputs") {
			size := rapid.Int64Range(0, 40).Draw(t, "size")
			if rapid.Bool().Draw(t, "free") && size <= held {
				step.Free(size)
				held -= size
				continue
			}
			held += size
			exceeded = exceeded || held > limit
			if err := step.Hold(size); (err != nil) != exceeded || exceeded && (!budget.IsExceeded(err) || calls.KindOf(err) != calls.Budget) {
				t.Fatalf("%d of %d bytes: %v", held, limit, err)
			}
		}
		if (step.Exceeded() != nil) != exceeded || (run.Exceeded() != nil) != exceeded || other.Exceeded() != nil {
			t.Errorf("the step: %v, the run: %v, another step: %v", step.Exceeded(), run.Exceeded(), other.Exceeded())
		}
		step.Release()
		step.Release()
		if err := other.Hold(limit); err != nil {
			t.Errorf("after the release: %v", err)
		}
	})
}

// TestSteps: steps of earlier processes count.
func TestSteps(t *testing.T) {
	bounds := budget.NewBounds(5, 1)
	bounds.Restore(3)
	var h budget.Holder
	h.SetUp(bounds, nil)
	for i, want := range []bool{false, false, true, true} {
		if err := h.AddStep(); budget.IsExceeded(err) != want {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if budget.IsExceeded(errors.New("other")) || budget.IsExceeded(nil) {
		t.Error("another error is taken for a bound")
	}
}

// TestSizeOf: a value is at least as large as its text, and larger than its parts.
func TestSizeOf(t *testing.T) {
	texts := []string{"", "a", strings.Repeat("b", 1000)}
	parts := int64(0)
	for _, text := range texts {
		size := budget.SizeOf(value.OfString(text))
		if size < int64(len(text)) || size > int64(len(text))+100 {
			t.Errorf("%d bytes of text have the size %d", len(text), size)
		}
		parts += size
	}
	list, object := budget.SizeOf(value.Must(texts)), budget.SizeOf(value.OfMap(value.Pairs("key", value.Must(texts))))
	if list <= parts || object < list+int64(len("key")) {
		t.Errorf("the list has the size %d, the object %d, the parts %d", list, object, parts)
	}
}
