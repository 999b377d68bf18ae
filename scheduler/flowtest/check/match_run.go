package check

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/journal"
)

// runMatchers lists the matchers of the run as a whole.
func runMatchers() []matcher {
	on := []subjectKind{runSubject}
	return []matcher{
		define("state", wording.Text{En: "The run ended in this state.", Zh: "运行以此状态结束。"}, on, buildState),
		define("waits_for", wording.Text{En: "The run waits for the value at this JSON pointer: /city, or STEP:/city.", Zh: "运行在等待此 JSON 指针处的值：/city 或 STEP:/city。"}, on, buildWaitsFor),
		define("error", wording.Text{En: "The run failed with an error of this kind, whose message matches.", Zh: "运行以此类错误失败，且错误信息匹配。"}, on, buildError),
		define("warnings", wording.Text{
			En: "The run has so many warnings, as it counts them at its end: also steps, items and tools that failed and that it went on after.",
			Zh: "运行有这么多条警告，与结束时报告的数目相同：失败后运行仍继续的步骤、项目和工具也算在内。",
		}, on, buildRunWarnings),
		define("tokens", wording.Text{En: "The models read and wrote so many tokens together.", Zh: "模型读写的 token 总数在此范围内。"}, on, buildRunTokens),
		define("cost", wording.Text{En: "The run cost so much, by the prices of the settings.", Zh: "按设置中的价格，运行花费在此范围内。"}, on, buildCost),
		define("ms", wording.Text{En: "The run took so many milliseconds; in a replay, what its models took when they were recorded.", Zh: "运行用了这么多毫秒；回放时为录制时模型所用时间。"}, on, buildMS),
	}
}

// expectsEnd reports whether a matcher of the run is about such an end. An expression is if it uses a name that
// depends on the end, or the run as a whole.
func (m *parsedMatcher) expectsEnd(end End) bool {
	told := map[journal.RunStatus]string{journal.RunFailed: "error", journal.RunCancelled: "error", journal.RunWaiting: "waiting"}[end.State]
	switch m.name {
	case "state":
		state, _ := m.arg.value.Str()
		if m.negated { // any end but the usual one
			return state == string(journal.RunFinished) && end.State != journal.RunFinished
		}
		return true // it fails if the run ended otherwise
	case "waits_for":
		return !m.negated && told == "waiting"
	case "error":
		return !m.negated && told == "error"
	}
	return slices.ContainsFunc(m.refs, func(ref prompt.Ref) bool {
		if ref.Path[0] != nameValue && ref.Path[0] != nameRun {
			return false
		}
		return len(ref.Path) < 2 || ref.Path[1] == "state" || ref.Path[1] == told
	})
}

// expectsEvent reports whether a check of events is about such an end: flow.failed and step.waiting are, and
// step.skipped of the step that the run did not come to.
func expectsEvent(s *parsedSubject, end End) bool {
	switch s.event { //nolint:exhaustive // the others are in any run
	case journal.FlowFailed, journal.FlowCancelled:
		return end.State == journal.RunFailed || end.State == journal.RunCancelled
	case journal.FlowWaiting, journal.StepWaiting:
		return end.State == journal.RunWaiting
	case journal.FlowFinished:
		return end.State == journal.RunFinished
	case journal.StepSkipped:
		return end.Missed != "" && (s.step == "" || s.step == end.Missed)
	}
	return false
}

func runStates() []string {
	return []string{string(journal.RunRunning), string(journal.RunWaiting), string(journal.RunFailed), string(journal.RunCancelled), string(journal.RunFinished)}
}

func buildState(want string, a *argument) test {
	if !slices.Contains(runStates(), want) {
		a.report("", wording.Say("unknown state %q", want), nearHint(want, runStates()))
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		r := of.of.Record
		if string(r.State) == want {
			return pass()
		}
		failed := failf("the run is %s, not %s", wording.Of(string(r.State)), wording.Of(want))
		if r.Error != nil {
			failed.message = wording.Say("the run is %s, not %s: %s", wording.Of(string(r.State)), wording.Of(want), r.Error.Message)
			failed.hint = wording.Of(r.Error.Hint)
		} else if len(r.Waiting) > 0 {
			failed.hint = wording.Say("the step %s waits for %s: give answers", r.Waiting[0].Step, value.ListNames(r.Waiting[0].Pointers()))
		}
		return failed
	}
}

func buildWaitsFor(want string, a *argument) test {
	step, pointer := "", want
	if id, path := cutStep(want); len(want) > 0 && want[0] != '/' {
		step, pointer = id, path
	}
	if len(pointer) == 0 || pointer[0] != '/' {
		a.report("", wording.Say("%q is not a JSON pointer", want), wording.Say("write /city, or STEP:/city"))
		return nil
	}
	if step != "" && !a.holds("", a.scope.checkStep(step)) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		var all []string
		for _, w := range of.of.Record.Waiting {
			for _, p := range w.Pointers() {
				if p == pointer && (step == "" || step == w.Step) {
					return pass()
				}
				all = append(all, w.Step+":"+p)
			}
		}
		if len(all) == 0 {
			return failf("the run waits for nothing; it is %s", wording.Of(string(of.of.Record.State))).withNote("the run waits for nothing")
		}
		failed := failf("the run does not wait for %s", want)
		failed.hint = wording.Say("it waits for %s", value.ListNames(all))
		return failed
	}
}

// errorWant is an error by its kind and message; a text is its kind.
type errorWant struct {
	Kind    string `json:"kind,omitempty" enum:"invalid|notfound|missing|plugin|provider|budget|timeout|canceled|internal" doc:"The kind of the error."`
	Matches string `json:"matches,omitempty" doc:"A regular expression (RE2) that its message matches."`
	Step    string `json:"step,omitempty" doc:"The step that failed."`
}

func buildError(want errorWant, a *argument) test {
	re, err := regexp.Compile(want.Matches)
	if err != nil {
		a.report("/matches", wording.Say("%q is not a regular expression: %w", value.Truncate(want.Matches, 60), err), wording.Text{})
		return nil
	}
	if want.Matches != "" && matchesAll(re) {
		a.reportIdle("/matches", "%q matches every message", value.Truncate(want.Matches, 60))
		return nil
	}
	if want.Step != "" && !a.holds("/step", a.scope.checkStep(want.Step)) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		got := of.of.Record.Error
		switch {
		case got == nil:
			return failf("the run did not fail; it is %s", wording.Of(string(of.of.Record.State))).withNote("the run did not fail")
		case want.Kind != "" && string(got.Kind) != want.Kind:
			return failf("the error is of kind %s, not %s: %s", string(got.Kind), want.Kind, got.Message)
		case want.Step != "" && got.Step != want.Step:
			return failf("the step %s failed, not %s: %s", got.Step, want.Step, got.Message)
		case !re.MatchString(got.Message):
			return failf("%s does not match %q", want.Matches, value.Truncate(got.Message, maxShown))
		}
		return pass()
	}
}

func buildRunWarnings(want countWant, a *argument) test {
	if !want.isBound(a) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		n := len(of.of.Record.Warnings)
		if want.holds(n) {
			return pass()
		}
		failed := failf("the run has %s, not %s", wording.Count(n, "warning"), want.text())
		failed.hint = listWarnings(journal.WarningEvents(of.of.Events))
		return failed
	}
}

// maxWarnings bounds how many warnings a message names.
const maxWarnings = 3

// listWarnings returns the warnings of steps, as a hint: sorted by step and item, because steps that run side by
// side end in any order.
func listWarnings(events []*journal.Event) wording.Text {
	slices.SortStableFunc(events, func(a, b *journal.Event) int {
		itemA, itemB := -1, -1
		if a.Index != nil && b.Index != nil {
			itemA, itemB = *a.Index, *b.Index
		}
		return cmp.Or(strings.Compare(a.Step, b.Step), cmp.Compare(itemA, itemB))
	})
	var texts []wording.Text
	for _, ev := range events[:min(len(events), maxWarnings)] {
		texts = append(texts, wording.Say("%s: %s", journal.StepPath(ev.Step, ev.Index), value.Truncate(ev.Data.Text, maxShown)))
	}
	if more := len(events) - maxWarnings; more > 0 {
		texts = append(texts, wording.Say("and %d more", more))
	}
	return wording.Join(texts, "; ", "；")
}

func buildRunTokens(want rangeWant, a *argument) test {
	if !want.isBound(a, maxCount) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		total := of.of.Record.Usage.Total()
		if total == 0 && of.of.hasAskedModel() {
			return errorf("how many tokens it was is not known: the answers under llm do not tell").
				withHint("give usage to the answers: {text: ..., usage: {input_tokens: 20, output_tokens: 5}}")
		}
		return of.of.noteUnasked(want.verdictOf(float64(total), "tokens"))
	}
}

func buildCost(want rangeWant, a *argument) test {
	if !want.isBound(a, maxCost) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		usage := of.of.Record.Usage
		isAsked := usage.Total() > 0 || of.of.hasAskedModel()
		if !of.of.PriceKnown && isAsked {
			return errorOf(calls.Errorf(calls.Missing, "the cost is not known: the provider has no price").
				WithHint("give prices under llm.providers in the settings"))
		}
		return of.of.noteUnasked(want.verdictOf(usage.Cost, of.of.Currency.Code()))
	}
}

func buildMS(want rangeWant, a *argument) test {
	if !want.isBound(a, maxMS) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if of.of.MS == nil {
			return errorOf(calls.Errorf(calls.Missing, "how long the run took is not known: scripted answers take no time, and the recording does not tell").
				WithHint("record it again with --record"))
		}
		return of.of.noteUnasked(want.verdictOf(*of.of.MS, "ms"))
	}
}

// hasAskedModel reports whether a step of the run asked a model and got its answer.
func (e *Evidence) hasAskedModel() bool {
	for path := range e.Requests {
		step := e.Record.Step(path)
		if step != nil && step.State == journal.StepStatusFinished && !step.IsGiven {
			return true
		}
	}
	return false
}

// noteUnasked adds to a pass about the use of models a note that none was asked.
func (e *Evidence) noteUnasked(v *verdict) *verdict {
	if v.outcome == result.Pass && e.Record.Usage.Total() == 0 {
		return v.withNote("no model was asked")
	}
	return v
}
