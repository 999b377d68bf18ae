package calibrate_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/flowtest/calibrate"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

func readLabels(t *testing.T, lines ...string) []calibrate.Label {
	t.Helper()
	labels, err := calibrate.ReadLabels(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return labels
}

// answering returns services with a judge that gives these verdicts, one for each answer.
func answering(verdicts ...string) (*check.Services, *scripted.Provider) {
	var texts []string
	for _, v := range verdicts {
		texts = append(texts, map[string]string{
			"pass": `{"criteria": [{"reason": "it does", "met": true}]}`, "fail": `{"criteria": [{"reason": "it does not", "met": false}]}`,
		}[v])
	}
	p := scripted.Texts(texts...)
	return &check.Services{Provider: func(string) (llm.Provider, error) { return p, nil }}, p
}

func TestAJudgeIsHeldAgainstPeople(t *testing.T) {
	labels := readLabels(t,
		`{"text": "a", "pass": true}`, `{"id": "b", "text": "b", "pass": false, "question": "which?"}`, ``, `{"text": "c", "pass": true}`,
		`{"text": "d", "pass": false, "judge": {"criteria": ["Is long"]}}`, `{"text": "e", "pass": true}`)
	services, provider := answering("pass", "pass", "fail", "fail", "pass")
	c, err := calibrate.Run(t.Context(), labels, &check.Judging{Criteria: []string{"Is kind"}}, "big", "en", services)
	if err != nil {
		t.Fatal(err)
	}
	if c.Provider != "big" || c.Items != 5 || c.Share != 0.6 || c.Failed != 2 || c.FalsePasses != 1 || c.FalseFails != 1 || c.FalsePass != 0.5 {
		t.Errorf("%+v", c)
	}
	if want := (0.6 - 0.52) / 0.48; math.Abs(c.Kappa-want) > 1e-12 {
		t.Errorf("kappa %v, not %v", c.Kappa, want)
	}
	if len(c.Disagreements) != 2 || c.Disagreements[0] != (calibrate.Disagreement{Line: 2, ID: "b", Judge: true, Reason: "it does"}) || c.Disagreements[1].Line != 4 {
		t.Errorf("%+v", c.Disagreements)
	}
	if sent := provider.Requests(); len(sent) != 5 || !strings.Contains(requestText(sent[1]), "which?") || !strings.Contains(requestText(sent[3]), "Is long") || strings.Contains(requestText(sent[3]), "Is kind") {
		t.Errorf("%d requests", len(sent))
	}
}

func requestText(r *llm.Request) string {
	var all []string
	for _, m := range r.Messages {
		all = append(all, string(m))
	}
	return strings.Join(all, "\n")
}

func TestWhatCannotBeJudged(t *testing.T) {
	labels := readLabels(t, `{"text": "a", "pass": true}`, `{"text": "b", "pass": false}`)
	services, _ := answering("pass") // the second finds no answer
	c, err := calibrate.Run(t.Context(), labels, &check.Judging{Criteria: []string{"Is kind"}}, "big", "en", services)
	if err != nil || len(c.Undecided) != 1 || c.Undecided[0].Line != 2 || c.Items != 1 || c.Defined {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := calibrate.Run(t.Context(), labels, nil, "big", "en", services); err == nil || !strings.Contains(err.Error(), "line 1: there is nothing to judge by") {
		t.Errorf("without criteria: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := calibrate.Run(ctx, labels, &check.Judging{Criteria: []string{"Is kind"}}, "big", "en", services); err == nil {
		t.Error("a run that was stopped has a result")
	}
}

func TestWrongLabels(t *testing.T) {
	_, err := calibrate.ReadLabels(strings.NewReader("{\"text\": \"a\"}\n{\"text\": \"b\", \"pass\": true}\n[]\n{\"txt\": 1, \"pass\": true}\n" +
		"{\"text\": \"c\", \"pass\": true, \"judge\": {\"rubric\": \"x\"}}\n{\"text\": 3, \"pass\": true}\nfoo\n{\"text\": \"d\", \"pass\": true, \"judge\": {\"criteri\": [\"x\"]}}\n"))
	if err != nil && strings.Contains(err.Error(), "Go struct") || err != nil && strings.Contains(err.Error(), "json:") {
		t.Errorf("the message is for programmers: %v", err)
	}
	for _, want := range []string{
		"line 1: pass is missing", "line 3: ", `line 4: /txt: unknown`, "line 5: judge: a rubric needs min", "line 6: /text: want string", "line 7: ", `line 8: /judge/criteri: unknown`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if _, err := calibrate.ReadLabels(strings.NewReader("\n\n")); err == nil {
		t.Error("no labels are labels")
	}
}

func TestCalibrationsAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), calibrate.File)
	if kept, err := calibrate.Load(file); err != nil || kept != nil {
		t.Errorf("%v, %v", kept, err)
	}
	services, _ := answering("pass", "fail")
	labels := readLabels(t, `{"text": "a", "pass": true}`, `{"text": "b", "pass": false}`)
	c, err := calibrate.Run(t.Context(), labels, &check.Judging{Criteria: []string{"Is kind"}}, "big", "en", services)
	if err != nil {
		t.Fatal(err)
	}
	for _, provider := range []string{"big", "small"} {
		c.Provider = provider
		if err := calibrate.Save(file, c); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := calibrate.Load(file)
	if err != nil || len(kept) != 2 || kept["small"] != (calibrate.KeptJudge{Labels: 2, Agreement: 1, Kappa: 1}) {
		t.Errorf("%+v, %v", kept, err)
	}
	run := &result.Run{Suites: []*result.Suite{{Cases: []*result.Case{{Repeats: []result.Repeat{{Checks: []result.Check{
		{Judge: &result.Judge{}}, {Judge: &result.Judge{Provider: "other"}}, {},
	}}}}}}}}
	kept.Annotate(run, "big")
	checks := run.Suites[0].Cases[0].Repeats[0].Checks
	if checks[0].Judge.Labels != 2 || checks[0].Judge.Provider != "big" || checks[1].Judge.Labels != 0 {
		t.Errorf("%+v, %+v", checks[0].Judge, checks[1].Judge)
	}
}
