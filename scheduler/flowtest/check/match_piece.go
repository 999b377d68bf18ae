package check

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// provenanceMatchers lists the matchers about the pieces of a prompt, their sources and their reasons. If a step
// sent several prompts, includes, order and text look at the last one, which has the whole conversation;
// leaves_out, tokens, confined look at all.
func provenanceMatchers() []matcher {
	on := []subjectKind{promptSubject}
	return []matcher{
		define("includes", wording.Text{En: "Such a piece is in the prompt.", Zh: "提示词中有这样的片段。"}, on, buildIncludes).
			withKeys(modifier{"in", schema.MustFor[placeWant]()}),
		define("leaves_out", wording.Text{En: "Such a piece was offered and is not in the prompt, because of this code or a reason that matches.", Zh: "这样的片段被提供过但不在提示词中，原因为此代码或与之匹配。"}, on, buildLeavesOut).
			withKeys(modifier{"because", schema.MustFor[string]()}),
		define("order", wording.Text{En: "All pieces of each are before those of the next.", Zh: "前一项的片段都在后一项之前。"}, on, buildOrder),
		define("tokens", wording.Text{En: "The prompt, or its pieces of a kind, costs so many tokens, or such a share.", Zh: "提示词（或其中某类片段）的 token 数或占比在此范围内。"}, on, buildPromptTokens),
		define("text", wording.Text{En: "The text is in a message; with comes_from all of its bytes come from such pieces.", Zh: "消息中有此文本；有 comes_from 时其全部字节都来自这样的片段。"}, on, buildSourcedText).
			withKeys(modifier{"comes_from", schema.MustFor[selector]()}, modifier{"in", schema.MustFor[placeWant]()}),
		define("confined", wording.Text{En: "No byte that comes from the source is in a message of another role.", Zh: "来自该来源的任何字节都不在其他角色的消息中。"}, on, buildConfined),
		define("stable_prefix", wording.Text{En: "The prompt begins as that of another case, for so many tokens: what a provider's cache can reuse.", Zh: "提示词与另一用例的开头相同，长度至少这么多 token：服务商的缓存可重用。"}, on, buildStablePrefix),
	}
}

// includesWant is a piece that is in a prompt.
type includesWant struct {
	selector
	MinTokens int `json:"min_tokens,omitempty" min:"1" doc:"What all such pieces cost at least, in tokens."`
}

func buildIncludes(want includesWant, a *argument) test {
	place, ok := placeOf(a)
	if !checkSelector(a, "", want.selector) || !ok {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		e := of.lastPrompt()
		pieces := want.find(e)
		isPlace := func(message int) bool { return place.holds(e, message) }
		if len(pieces) == 0 {
			return cmp.Or(want.undecided(e, isPlace), want.absent(e))
		}
		tokens, first := 0, -1
		for i := range pieces {
			if place.holds(e, pieces[i].message) {
				tokens += pieces[i].piece.Tokens
				if first < 0 {
					first = i
				}
			}
		}
		if v := want.undecided(e, isPlace); v != nil && first < 0 {
			return v
		}
		if first < 0 {
			failed := failf("%s is in %s, not in %s", want.text(), pieces[0].place(), place.text())
			failed.piece = pieces[0].ref()
			return failed
		}
		if tokens < want.MinTokens {
			failed := failf("%s has %d tokens, less than %d", want.text(), tokens, want.MinTokens)
			failed.piece = pieces[first].ref()
			return failed
		}
		v := pass()
		v.message = wording.Say("%s is in %s", want.text(), pieces[first].place())
		v.piece = pieces[first].ref()
		return v
	}
}

// absent says that no such piece is in a prompt, and why, if it was left out.
func (s selector) absent(e *explain.Explanation) *verdict {
	for i := range e.LeftOut {
		l := &e.LeftOut[i]
		if !s.coversLeftOut(l) {
			continue
		}
		failed := failf("%s is not in the prompt: the step %s left it out: %s", s.text(), l.Step, l.Reason)
		failed.piece = leftOutPiece(e, l)
		if l.Detail != "" {
			failed.hint = wording.Of(l.Detail)
		}
		return failed
	}
	failed := failf("%s is not in the prompt", s.text())
	failed.hint = s.nearest(e)
	if s.Name != "" {
		failed.note = wording.Say("%s is unknown: it is neither in the prompt nor left out", s.text())
	}
	return failed
}

// nearest names the piece that the selector probably means, or lists the pieces of the kind.
func (s selector) nearest(e *explain.Explanation) wording.Text {
	var names, kinds []string
	add := func(kind, name string) {
		if s.Kind == "" || kind == s.Kind {
			names = append(names, name)
		}
		kinds = append(kinds, kind)
	}
	for _, f := range piecesOf(e) {
		add(result.NameOf(f.piece.Sources))
	}
	for _, l := range e.LeftOut {
		add(l.Kind, l.Name)
	}
	if len(names) == 0 {
		return nearHint(s.Kind, distinct(kinds))
	}
	if s.Name == "" {
		return wording.Text{}
	}
	return nearHint(s.Name, distinct(names))
}

// distinct returns the names without those that are "" or there already.
func distinct(names []string) (kept []string) {
	for _, name := range names {
		if name != "" && !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

func buildLeavesOut(want selector, a *argument) test {
	if !checkPart(a, "", want) || !a.holds("/source", a.scope.knownNames().CheckInput(want.Source)) { // the name of a part that was left out may be a source too
		return nil
	}
	because, ok := becauseOf(a)
	if !ok {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		for _, e := range of.prompts {
			if in := want.find(e); len(in) > 0 {
				failed := failf("%s is in the prompt, in %s", want.text(), in[0].place())
				failed.piece = in[0].ref()
				return failed
			}
		}
		for _, e := range of.prompts {
			if v := want.undecided(e, everywhere); v != nil {
				return v
			}
		}
		return want.leftOutVerdict(of.prompts, because)
	}
}

// leftOutVerdict looks for a piece that was left out for the reason.
func (s selector) leftOutVerdict(prompts []*explain.Explanation, because *reasonWant) *verdict {
	var other *verdict
	for _, e := range prompts {
		for i := range e.LeftOut {
			l := &e.LeftOut[i]
			if !s.coversLeftOut(l) {
				continue
			}
			if because.holds(l) {
				return pass()
			}
			other = failf("%s is left out for another reason: %s (%s), not %s", s.text(), l.Reason, l.Code, because.text)
			other.piece = leftOutPiece(e, l)
		}
	}
	if other != nil {
		return other
	}
	failed := unfitf("%s is unknown: it is neither in the prompt nor left out", s.text())
	failed.hint = s.nearest(prompts[len(prompts)-1])
	return failed
}

// reasonWant is the reason why a piece was left out: its code, or a regular expression.
type reasonWant struct {
	text string
	re   *regexp.Regexp
}

// becauseOf reads the key because; nil is any reason.
func becauseOf(a *argument) (*reasonWant, bool) {
	other, ok := a.take("because")
	if !ok {
		return nil, true
	}
	text, ok := decode[string](other, schema.MustFor[string]())
	if !ok || !isGiven(other, text) {
		return nil, false
	}
	re, err := regexp.Compile(text)
	if err != nil {
		other.report("", wording.Say("%q is not a regular expression: %w", value.Truncate(text, 60), err), wording.Say("give the code of the reason, or a regular expression for it"))
		return nil, false
	}
	if matchesAll(re) {
		other.reportIdle("", "%q matches every reason", value.Truncate(text, 60))
		return nil, false
	}
	return &reasonWant{text, re}, true
}

// holds reports whether something was left out for the reason.
func (w *reasonWant) holds(l *explain.LeftOut) bool {
	return w == nil || l.Code == w.text || w.re.MatchString(l.Reason)
}

func buildOrder(want []selector, a *argument) test {
	if len(want) < 2 {
		a.report("", wording.Say("order takes at least two pieces"), wording.Say("write order: [{name: AGENTS.md}, {kind: history}]"))
		return nil
	}
	for i, s := range want {
		if !checkSelector(a, "/"+value.OfInt(int64(i)).JSON(), s) {
			return nil
		}
	}
	return func(_ context.Context, of *subject) *verdict { return orderVerdict(want, of.lastPrompt()) }
}

// orderVerdict checks that all pieces of each selector are before the pieces of the next.
func orderVerdict(want []selector, e *explain.Explanation) *verdict {
	all := make([][]found, len(want))
	for i, s := range want {
		all[i] = s.find(e)
		if len(all[i]) == 0 {
			absent := s.absent(e)
			absent.isUnfit = true // missing pieces have neither a right nor a wrong order
			return cmp.Or(s.undecided(e, everywhere), absent)
		}
		if i == 0 {
			continue
		}
		first, before := &all[i][0], &all[i-1][len(all[i-1])-1]
		if first.index <= before.index {
			failed := failf("%s, in %s, comes before %s, in %s", s.text(), first.place(), want[i-1].text(), before.place())
			failed.piece = first.ref()
			return failed
		}
	}
	for i, s := range want {
		for _, f := range s.findPossible(e) {
			isEarly := i > 0 && f.index <= all[i-1][len(all[i-1])-1].index
			isLate := i+1 < len(want) && f.index >= all[i+1][0].index
			if isEarly || isLate {
				return f.undecided(s.Source)
			}
		}
	}
	return pass()
}
