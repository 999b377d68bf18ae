package llm

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Candidate is one provider of a [Chain]. The configuration of the providers makes it; it is only data.
type Candidate struct {
	// Name is the name of the provider in the configuration; "" if it has none.
	Name string
	// Model is its default model, used if a request names none; "" if that is not known.
	Model    string
	Provider Provider
	// Tokens counts as that model does; nil leaves the counter to the caller.
	Tokens Counter
	// Images is set if it is known that the model sees images.
	Images bool
}

// NameSeparator separates the names of several providers in one text.
const NameSeparator = ","

// ParseNames returns the names of providers in a text: main, or main,backup, which are asked in
// that order. "" has none.
func ParseNames(text string) (names []string) {
	for name := range strings.SplitSeq(text, NameSeparator) {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Chain is a provider that asks its candidates in order, until one answers. The next one is asked when a candidate
// has failed after its own retries: its server is not reached, is silent for longer than its timeout, refuses for
// load, quota or a key, or ends in the middle of its thoughts.
//
// Two kinds of failure are final. One is a failure after the first piece of text or of a tool call: the reader of
// the answer may have shown that already, unless Unheard says that it has not. The other is a request that the
// server calls wrong (400, 413, 422): for example, [Error] with status 400 for messages that are too long.
//
// It is safe for concurrent use once its fields are set.
type Chain struct {
	Candidates []Candidate
	// Failed is called for each candidate that failed, before the next one is asked; it may be nil.
	Failed func(failed, next *Candidate, err error)
	// Unheard is set if no user reads the answer while it comes, for example the answer for a slot. Then it is
	// passed on once it is whole, unless the candidate is the last one, and another one is asked if it breaks off
	// in the middle.
	Unheard bool
}

var _ ImageTaker = (*Chain)(nil)

// TakesImages reports whether every candidate is known to see images: any of them may be the one that answers.
func (c *Chain) TakesImages() bool {
	return !slices.ContainsFunc(c.Candidates, func(one Candidate) bool { return !one.Images })
}

// Chat yields the answer of the first candidate that gives one, with its name. The error of several failed
// candidates names each of them; a single candidate's error is its own.
func (c *Chain) Chat(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		var failures []error
		for i := range c.Candidates {
			isLast := i == len(c.Candidates)-1
			t := attempt{candidate: &c.Candidates[i], yield: yield, holds: !isLast, isUnheard: c.Unheard && !isLast}
			err := t.ask(ctx, req)
			if err == nil {
				return
			}
			if t.isFinal(ctx, err) || len(c.Candidates) == 1 {
				t.fail(err)
				return
			}
			failures = append(failures, err)
			if isLast {
				t.fail(joinFailures(failures))
				return
			}
			if c.Failed != nil {
				c.Failed(&c.Candidates[i], &c.Candidates[i+1], err)
			}
		}
	}
}

// attempt is one candidate being asked.
type attempt struct {
	candidate *Candidate
	yield     func(Delta, error) bool
	// holds: pieces before the first piece of the answer are held back, because another candidate may follow.
	holds bool
	// isUnheard: the answer is held back as a whole.
	isUnheard bool
	held      []Delta
	named     bool // a delta with the name was passed on
	answers   bool // text or a tool call has come
}

// ask passes the answer on. The error is how the candidate failed.
func (t *attempt) ask(ctx context.Context, req *Request) error {
	for d, err := range t.candidate.Provider.Chat(ctx, req) {
		if err != nil {
			return err
		}
		t.answers = t.answers || d.Text != "" || len(d.ToolCalls) > 0
		if t.isUnheard || t.holds && !t.answers {
			t.held = append(t.held, d)
			continue
		}
		if !t.passHeld() || !t.pass(d) {
			return nil
		}
	}
	t.passHeld()
	return nil
}

// isFinal reports whether no other candidate may be asked after the error.
func (t *attempt) isFinal(ctx context.Context, err error) bool {
	var failure *Error
	isHeard := t.answers && !t.isUnheard
	if isHeard || ctx.Err() != nil || !errors.As(err, &failure) {
		return true
	}
	if failure.Exhausted {
		return false
	}
	switch failure.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// fail passes an error on, after the pieces held back.
func (t *attempt) fail(err error) {
	if t.passHeld() {
		t.yield(Delta{}, err)
	}
}

// passHeld passes on the pieces held back, and reports whether the reader wants more.
func (t *attempt) passHeld() bool {
	held := t.held
	t.held = nil
	for _, d := range held {
		if !t.pass(d) {
			return false
		}
	}
	return true
}

// pass passes one delta on, the first with the name of the candidate.
func (t *attempt) pass(d Delta) bool {
	if !t.named && d.Provider == "" {
		d.Provider = t.candidate.Name
	}
	t.named = true
	return t.yield(d, nil)
}

// joinFailures returns the error of a chain without an answer. It is temporary if one of the failures is, and has
// the shortest wait that one asks for.
func joinFailures(failures []error) *Error {
	all := &Error{Unsent: true}
	var en, zh []string
	waits := time.Duration(-1)
	for _, err := range failures {
		var one *Error
		errors.As(err, &one)
		said := wording.OfError(err)
		en, zh = append(en, said.En), append(zh, said.Zh)
		all.Unsent = all.Unsent && one.Unsent
		if all.Hint == "" {
			all.Hint = one.Hint
		}
		if !one.Temporary {
			continue
		}
		all.Temporary = true
		if waits < 0 || one.RetryAfter < waits {
			waits = one.RetryAfter
		}
	}
	all.RetryAfter = max(waits, 0)
	return all.WithMessage("none of the providers answered: %s", wording.Text{En: strings.Join(en, "; "), Zh: strings.Join(zh, "；")})
}
