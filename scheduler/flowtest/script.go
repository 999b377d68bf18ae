package flowtest

import (
	"cmp"
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
)

// script answers in place of models, by the lists of a case. It is made for one repeat, and safe for concurrent use.
type script struct {
	flow  *flow.Flow
	lists []scriptList

	mu     sync.Mutex
	asked  [][]string // by list, the paths of the steps that asked, in order; guarded by mu
	failed error      // a step has no list of answers; guarded by mu
}

// scriptList is one list of answers. It does not change.
type scriptList struct {
	step    string // "" is any
	answers []scripted.Answer
	texts   []string // the answers as JSON
}

var _ scheduler.StepProvider = (*script)(nil)

// newScript returns the answers of a case for a run of its flow.
func newScript(f *flow.Flow, lists []suite.Script) (*script, error) {
	s := &script{flow: f, asked: make([][]string, len(lists))}
	for _, list := range lists {
		answers, err := scripted.Parse(list.Answers)
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "llm: %w", err)
		}
		one := scriptList{step: list.Step, answers: answers}
		for _, item := range list.Answers.List() {
			one.texts = append(one.texts, item.JSON())
		}
		s.lists = append(s.lists, one)
	}
	return s, nil
}

// Chat answers a request that belongs to no step.
func (s *script) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return s.ForStep("").Chat(ctx, req)
}

// ForStep returns the provider that answers a step by its list.
func (s *script) ForStep(path string) llm.Provider { return scriptedStep{s, path} }

// scriptedStep answers one step.
type scriptedStep struct {
	script *script
	path   string
}

// Chat answers with the next item of the list for the step.
func (p scriptedStep) Chat(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	answer, err := p.script.next(p.path)
	if err != nil {
		return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, err) }
	}
	return scripted.New(answer...).Chat(ctx, req)
}

// next returns the next answer for a step; nothing if the list is at its end.
func (s *script) next(path string) ([]scripted.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.listOf(path)
	if i < 0 {
		step := stepsOf(path)
		err := calls.Errorf(calls.Missing, "llm has no answers for the step %s", step).WithHint("add them: llm: {%s: [...]}", step)
		if s.failed == nil {
			s.failed = err
		}
		return nil, err
	}
	n := len(s.asked[i])
	s.asked[i] = append(s.asked[i], path)
	if n >= len(s.lists[i].answers) {
		return nil, nil
	}
	return s.lists[i].answers[n : n+1], nil
}

// listOf returns the index of the list for a step: the one whose name matches most of its path; -1 if none
// matches.
func (s *script) listOf(path string) int {
	best := -1
	bare := itemNumber.ReplaceAllString(path, "")
	for i, list := range s.lists {
		isFor := list.step == "" || isStepOrInside(path, list.step) || isStepOrInside(bare, list.step)
		if isFor && (best < 0 || len(list.step) > len(s.lists[best].step)) {
			best = i
		}
	}
	return best
}

// isStepOrInside reports whether a path belongs to a step, or to something that runs inside it.
func isStepOrInside(path, step string) bool { return path == step || strings.HasPrefix(path, step+"/") }

var insideStep = regexp.MustCompile(`(/[a-z][a-z0-9_-]*-[0-9]+)+$`)

// stepsOf returns the path of the step of a flow that something runs in.
func stepsOf(path string) string { return insideStep.ReplaceAllString(path, "") }

// countGiven returns how many answers of each list were given.
func (s *script) countGiven() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make([]int, len(s.lists))
	for i := range s.lists {
		counts[i] = min(len(s.asked[i]), len(s.lists[i].answers))
	}
	return counts
}

// isPriced reports whether each answer has its cost.
func (s *script) isPriced() bool {
	return !slices.ContainsFunc(s.lists, func(list scriptList) bool {
		return slices.ContainsFunc(list.answers, func(a scripted.Answer) bool { return a.Error == nil && (a.Usage == nil || a.Usage.Cost == 0) })
	})
}

// problem returns why the run did not get the answers that were meant for it; nil: it did.
func (s *script) problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	for i := range s.lists {
		if n := len(s.asked[i]); n > len(s.lists[i].answers) {
			return s.lists[i].shortage(n)
		}
	}
	for i := range s.lists {
		if a, b := s.findRivals(&s.lists[i], s.asked[i]); a != "" {
			return calls.Errorf(calls.Invalid, "the steps %s and %s may run side by side, and which one gets which answer of llm depends on which one asks first", a, b).
				WithHint("give each its own answers: llm: {%s: [...], %s: [...]}, or mock one of them", quoteStep(a), quoteStep(b))
		}
	}
	return nil
}

// quoteStep returns a step as a key of YAML.
func quoteStep(step string) string {
	if strings.ContainsAny(step, "[]") {
		return value.OfString(step).JSON()
	}
	return step
}

// shortage returns that a list has too few answers.
func (l *scriptList) shortage(asked int) error {
	err := calls.Errorf(calls.Missing, "the run asks a model %d times, and llm has %d answers", asked, len(l.answers))
	if l.step != "" {
		err = calls.Errorf(calls.Missing, "the step %s asks a model %d times, and llm has %d answers for it", l.step, asked, len(l.answers))
	}
	return err.WithHint("add an answer for each request, in their order")
}

// findRivals returns two steps that may run side by side and took different answers of a list; "" without any. Which
// answers a group of such steps took together does not depend on which one was faster.
func (s *script) findRivals(list *scriptList, asked []string) (a, b string) {
	group := make([]int, len(asked)) // the first request of the group of each
	for i := range asked {
		group[i] = i
		for j := range i {
			if group[i] != group[j] && !areOrdered(s.flow, asked[i], asked[j]) {
				from, to := max(group[i], group[j]), min(group[i], group[j])
				for k := range i + 1 {
					if group[k] == from {
						group[k] = to
					}
				}
			}
		}
	}
	differ := map[int]bool{} // the groups whose answers differ
	for i := range asked {
		differ[group[i]] = differ[group[i]] || list.texts[i] != list.texts[group[i]]
	}
	var pairs [][2]string
	for j := range asked {
		for k := range j {
			if group[j] == group[k] && differ[group[j]] && !areOrdered(s.flow, asked[j], asked[k]) {
				pairs = append(pairs, [2]string{min(stepsOf(asked[j]), stepsOf(asked[k])), max(stepsOf(asked[j]), stepsOf(asked[k]))})
			}
		}
	}
	if len(pairs) == 0 {
		return "", ""
	}
	first := slices.MinFunc(pairs, func(p, q [2]string) int { return cmp.Or(cmp.Compare(p[0], q[0]), cmp.Compare(p[1], q[1])) })
	return first[0], first[1]
}

// areOrdered reports whether one of two steps of a flow, by their paths, always waits for the other.
func areOrdered(f *flow.Flow, a, b string) bool {
	if a == b {
		return true
	}
	segmentA, restA, _ := strings.Cut(a, "/")
	segmentB, restB, _ := strings.Cut(b, "/")
	nameA, _ := journal.SplitPath(segmentA)
	nameB, _ := journal.SplitPath(segmentB)
	stepA, isA := f.Step(nameA)
	stepB, isB := f.Step(nameB)
	switch {
	case !isA || !isB:
		return true
	case nameA != nameB:
		return slices.Contains(f.Ancestors(stepA.Index), stepB.Index) || slices.Contains(f.Ancestors(stepB.Index), stepA.Index)
	case segmentA != segmentB:
		return stepA.ForEach == nil || stepA.MaxParallel == 1
	case stepA.Sub == nil:
		return areOrderedInside(stepA.Inner, restA, restB)
	}
	return areOrdered(stepA.Sub, restA, restB)
}

// areOrderedInside is areOrdered for two paths below a step. A call does one thing after another; the flow that it
// runs is one of the known ones. If the flow is not known, only the uses of one step are ordered.
func areOrderedInside(inner []*flow.Flow, a, b string) bool {
	firstA, restA, _ := strings.Cut(a, "/")
	firstB, restB, _ := strings.Cut(b, "/")
	if a == "" || b == "" || a == b {
		return true
	}
	if isPiece := pieceNumber.MatchString(firstA) || pieceNumber.MatchString(firstB); isPiece {
		return firstA != firstB || areOrderedInside(inner, restA, restB)
	}
	isKnown := false
	for _, f := range inner {
		_, hasA := f.FindStep(firstA)
		_, hasB := f.FindStep(firstB)
		if hasA && hasB && !areOrdered(f, a, b) {
			return false
		}
		isKnown = isKnown || hasA && hasB
	}
	if isKnown {
		return true
	}
	return firstA == firstB && areOrderedInside(nil, restA, restB)
}
