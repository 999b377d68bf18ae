package check

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// guard is a check, and the kinds of mutations that it is meant to catch.
type guard struct {
	item   string
	check  *Check
	catch  string
	target string // the key of the piece, the message, or the left-out piece
}

// mutation is a prompt with one thing changed.
type mutation struct {
	what, target string
	prompt       *explain.Explanation
}

// Every single change of the source, the place in the order or the role of a piece, and of the reason why one was left
// out, in the prompt of the quickstart is caught by the check that is meant for it, and by the snapshot.
func TestEveryMutationIsCaught(t *testing.T) {
	e := quickstart(t)
	prompts, err := e.Explain(context.Background(), "answer")
	if err != nil || len(prompts) != 1 {
		t.Fatal(err, len(prompts))
	}
	original := prompts[0]
	guards := guardsOf(t, original)
	snapshots := memorySnapshots{}
	e.Services.Snapshots = snapshots
	c := parseItem(t, "{prompt: answer, snapshot: prompt}", &Scope{})
	subject, _ := c.subject.resolve(context.Background(), e)
	snapshots["a case: prompt answer"] = subject.snapshotText()
	guards = append(guards, guard{item: "snapshot", check: c, catch: "source order role reason text"})
	for _, g := range guards {
		if found := g.check.Evaluate(context.Background(), e); found.Outcome != result.Pass {
			t.Fatalf("%s: %s: %s", g.item, found.Outcome, found.Message)
		}
	}
	counts := map[string]int{}
	for _, m := range mutationsOf(t, original) {
		counts[m.what]++
		e.prompts["answer"] = explained{prompts: []*explain.Explanation{m.prompt}}
		asked := 0
		for _, g := range guards {
			isMeant := strings.Contains(g.catch, m.what) && (g.target == "" || strings.Contains(m.target, g.target))
			if !isMeant {
				continue
			}
			asked++
			if found := g.check.Evaluate(context.Background(), e); found.Outcome != result.Fail {
				t.Errorf("%s of %s: %s is %s", m.what, m.target, g.item, found.Outcome)
			}
		}
		if asked < 2 && !strings.HasPrefix(m.target, "blank") {
			t.Errorf("%s of %s has no check but the snapshot", m.what, m.target)
		}
	}
	for what, least := range map[string]int{"source": 35, "order": 8, "role": 10, "reason": 4, "text": 35} {
		if counts[what] < least {
			t.Errorf("there are %d mutations of the %s, want %d", counts[what], what, least)
		}
	}
	t.Logf("%v", counts)
}

// key names a piece by its text and place.
func key(f *found) string {
	if strings.TrimSpace(f.piece.Text) == "" {
		return fmt.Sprintf("blank <%d>", f.index)
	}
	return fmt.Sprintf("piece <%d>", f.index)
}

// selectorOf names a piece as a user would.
func selectorOf(f *found) string {
	kind, name := result.NameOf(f.piece.Sources)
	doc := value.Pairs("kind", kind)
	if name != "" {
		doc.Set("name", value.OfString(name))
	}
	origin := f.piece.Sources[0]
	if origin.Kind == explain.SourceInput || origin.Kind == explain.SourceFile {
		doc.Set("source", value.OfString(origin.Name))
	}
	return value.OfMap(doc).JSON()
}

// guardsOf writes the checks of a prompt as a careful user would.
func guardsOf(t *testing.T, e *explain.Explanation) (guards []guard) {
	t.Helper()
	add := func(catch, target, format string, args ...any) {
		item := fmt.Sprintf(format, args...)
		guards = append(guards, guard{item, parseItem(t, item, &Scope{}), catch, target})
	}
	quote := func(text string) string { return value.OfString(text).JSON() }
	var order []string
	seen := map[string]bool{}
	for _, f := range piecesOf(e) {
		if strings.TrimSpace(f.piece.Text) == "" || strings.TrimSpace(f.piece.Text) == "---" {
			continue
		}
		s := selectorOf(&f)
		if occurs := strings.Count(promptText(e), f.piece.Text); occurs == 1 {
			add("source text", key(&f), "{prompt: answer, text: %s, comes_from: %s}", quote(f.piece.Text), s)
		}
		add("role", fmt.Sprintf("message <%d>", f.message), "{prompt: answer, includes: %s, in: {role: %s, message: %d}}", s, f.role(), f.message)
		kind, name := result.NameOf(f.piece.Sources)
		group := value.OfMap(value.Pairs("kind", kind, "name", name)).JSON()
		if !seen[group] && isTogether(e, group, &f) {
			order = append(order, group)
		}
		seen[group] = true
	}
	add("order", "", "{prompt: answer, order: [%s]}", strings.Join(order, ", "))
	for _, l := range e.LeftOut {
		add("reason", l.Name, "{prompt: answer, leaves_out: {kind: %s, name: %s}, because: %s}", l.Kind, quote(l.Name), quote(l.Code))
	}
	return guards
}

// isTogether reports whether all pieces of a selector are side by side, so that order can name it.
func isTogether(e *explain.Explanation, item string, first *found) bool {
	var s selector
	v, err := value.ParseJSON([]byte(item))
	if err != nil || value.Decode(v, &s) != nil {
		return false
	}
	pieces := s.find(e)
	return pieces[len(pieces)-1].index-pieces[0].index == len(pieces)-1 && pieces[0].index == first.index
}

// clone returns a copy of a prompt that can be changed.
func clone(t *testing.T, e *explain.Explanation) *explain.Explanation {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	c := &explain.Explanation{}
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// mutationsOf changes one thing of a prompt at a time.
func mutationsOf(t *testing.T, e *explain.Explanation) (all []mutation) {
	t.Helper()
	mutate := func(what, target string, change func(*explain.Explanation)) {
		c := clone(t, e)
		change(c)
		all = append(all, mutation{what, target, c})
	}
	for _, f := range piecesOf(e) {
		i := indexInMessage(e, &f)
		isRare := strings.Count(promptText(e), f.piece.Text) == 1
		target := key(&f)
		if !isRare || strings.TrimSpace(f.piece.Text) == "---" {
			target = strings.Replace(target, "piece", "blank", 1) // no check of a text can name it
		}
		mutate("source", target, func(c *explain.Explanation) {
			c.Messages[f.message].Pieces[i].Sources = []explain.Source{{Kind: explain.SourceTool, Name: "evil"}}
		})
		mutate("text", target, func(c *explain.Explanation) {
			c.Messages[f.message].Pieces[i].Text += "!"
			c.Messages[f.message].Pieces[i].Text = "?" + c.Messages[f.message].Pieces[i].Text[1:]
		})
	}
	for m := range e.Messages {
		mutate("role", fmt.Sprintf("message <%d>", m), func(c *explain.Explanation) {
			c.Messages[m].Role = map[string]string{"system": "user", "user": "system", "assistant": "user"}[c.Messages[m].Role]
		})
		if m > 0 {
			mutate("order", fmt.Sprintf("messages %d and %d", m-1, m), func(c *explain.Explanation) {
				c.Messages[m-1], c.Messages[m] = c.Messages[m], c.Messages[m-1]
			})
		}
	}
	for i, swap := range swapsOf(e) {
		mutate("order", fmt.Sprintf("pieces %d", i), func(c *explain.Explanation) {
			pieces := c.Messages[swap.message].Pieces
			pieces[swap.a], pieces[swap.b] = pieces[swap.b], pieces[swap.a]
		})
	}
	for i, l := range e.LeftOut {
		mutate("reason", l.Name, func(c *explain.Explanation) { c.LeftOut[i].Code, c.LeftOut[i].Reason = "budget", "over the budget" })
		mutate("reason", l.Name, func(c *explain.Explanation) { c.LeftOut = append(c.LeftOut[:i], c.LeftOut[i+1:]...) })
		mutate("reason", l.Name, func(c *explain.Explanation) {
			c.LeftOut = append(c.LeftOut[:i], c.LeftOut[i+1:]...)
			c.Messages[0].Pieces = append(c.Messages[0].Pieces, explain.Piece{Text: "x", Sources: []explain.Source{{Kind: explain.SourcePart, Part: l.Kind, Name: l.Name, Step: l.Step}}})
		})
	}
	return all
}

// indexInMessage returns the index of a piece in its message.
func indexInMessage(e *explain.Explanation, f *found) int {
	for i := range e.Messages[f.message].Pieces {
		if &e.Messages[f.message].Pieces[i] == f.piece {
			return i
		}
	}
	return -1
}

// swap is two pieces of a message that change places.
type swap struct{ message, a, b int }

// swapsOf lists the pieces of groups that order can name, each with the next such one of another group in its message.
func swapsOf(e *explain.Explanation) (all []swap) {
	var before *found
	group := ""
	for _, f := range piecesOf(e) {
		kind, name := result.NameOf(f.piece.Sources)
		s := value.OfMap(value.Pairs("kind", kind, "name", name)).JSON()
		var sel selector
		if v, err := value.ParseJSON([]byte(s)); err != nil || value.Decode(v, &sel) != nil {
			continue
		}
		first := sel.find(e)[0]
		if strings.TrimSpace(f.piece.Text) == "" || kind == "separator" || !isTogether(e, s, &first) {
			continue
		}
		if before != nil && before.message == f.message && group != s {
			all = append(all, swap{f.message, indexInMessage(e, before), indexInMessage(e, &f)})
		}
		before, group = &f, s
	}
	return all
}
