package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// shippedCheck is a check of the test file of the quickstart.
type shippedCheck struct {
	*Check
	inCase     string
	isSnapshot bool
}

// shippedChecks reads the checks of the prompt that the question of the flow has, with the snapshots that they compare with.
func shippedChecks(t *testing.T, e *Evidence) (all []shippedCheck) {
	t.Helper()
	const path = "../../../flows/quickstart.test.yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := yaml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	e.Services.Snapshots, err = OpenSnapshots(filepath.FromSlash("../../../flows/quickstart.test.snapshots.yaml"), false)
	if err != nil {
		t.Fatal(err)
	}
	scope := &Scope{File: path, Dir: filepath.Dir(path), Flows: []*flow.Flow{e.Flow}}
	for _, item := range byName(membersOf(file))["cases"].value.Content {
		keys := byName(membersOf(item))
		_, hasInputs := keys["inputs"]
		_, hasUntil := keys["until"]
		if hasInputs || hasUntil {
			continue
		}
		for _, expected := range keys["expect"].value.Content {
			c, problems := Parse(expected, scope)
			if problems != nil {
				t.Fatal(problems)
			}
			if c.subject.kind == promptSubject {
				_, isSnapshot := byName(membersOf(expected))["snapshot"]
				all = append(all, shippedCheck{c, keys["name"].value.Value, isSnapshot})
			}
		}
	}
	return all
}

// foreignMutationsOf drops and adds a message, and adds something that is left out.
func foreignMutationsOf(t *testing.T, e *explain.Explanation) (all []mutation) {
	t.Helper()
	for m := range e.Messages {
		dropped, added := clone(t, e), clone(t, e)
		dropped.Messages = slices.Delete(dropped.Messages, m, m+1)
		extra := explain.ExplainedMessage{Role: "user", Pieces: []explain.Piece{{Text: "x", Sources: []explain.Source{{Kind: explain.SourceUser}}}}}
		added.Messages = slices.Insert(added.Messages, m, extra)
		all = append(all, mutation{"dropped", fmt.Sprint("message ", m), dropped}, mutation{"added", fmt.Sprint("message ", m), added})
	}
	more := clone(t, e)
	more.LeftOut = append(more.LeftOut, explain.LeftOut{Step: "scene", Kind: "world_book", Name: "The pier", Reason: "disabled", Code: "disabled"})
	return append(all, mutation{"added", "left out", more})
}

// The test file of the quickstart, which people copy, catches every single change of its prompt: the snapshot
// catches each, and named checks catch changes of roles, order, messages, reasons and sources.
func TestShippedChecksCatchEveryMutation(t *testing.T) {
	e := quickstart(t)
	prompts, err := e.Explain(context.Background(), "answer")
	if err != nil {
		t.Fatal(err)
	}
	checks := shippedChecks(t, e)
	evaluate := func(c *shippedCheck) result.Check {
		e.Case = c.inCase
		return c.Evaluate(context.Background(), e)
	}
	for _, c := range checks {
		if found := evaluate(&c); found.Outcome != result.Pass {
			t.Fatalf("%s: %s: %s", c.Pos, found.Outcome, found.Message)
		}
	}
	mutations := append(mutationsOf(t, prompts[0]), foreignMutationsOf(t, prompts[0])...)
	named := map[string]int{}
	for _, m := range mutations {
		e.prompts["answer"] = explained{prompts: []*explain.Explanation{m.prompt}}
		isKept, isNamed := false, false
		for _, c := range checks {
			hasFailed := evaluate(&c).Outcome == result.Fail
			isKept = isKept || hasFailed && c.isSnapshot
			isNamed = isNamed || hasFailed && !c.isSnapshot
		}
		if !isKept {
			t.Errorf("%s of %s is as in the snapshot", m.what, m.target)
		}
		if isNamed {
			named[m.what]++
		} else if isLarge := slices.Contains([]string{"role", "order", "reason", "dropped"}, m.what); isLarge {
			t.Errorf("%s of %s has no check by name", m.what, m.target)
		}
	}
	t.Logf("of %d mutations, checks by name catch %v", len(mutations), named)
}
