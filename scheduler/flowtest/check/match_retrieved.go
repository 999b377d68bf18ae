package check

import (
	"context"
	"math"
	"slices"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// keyRelevant is the key of the memories that should be found.
const keyRelevant = "relevant"

// retrievalMatchers lists the matchers of the memories that a step has found. relevant beside them lists the ids
// that should be found, or gives each a gain: {id: 2}.
func retrievalMatchers() []matcher {
	on := []subjectKind{retrievedSubject}
	relevant := modifier{keyRelevant, schema.MustFor[relevantWant]()}
	return []matcher{
		define("recall_at", wording.Text{En: "Of the relevant memories at least the share min is among the first k.", Zh: "相关记忆中至少有 min 的比例在前 k 个之中。"}, on, buildRecall).withKeys(relevant),
		define("mrr", wording.Text{En: "The first relevant memory is at rank r, and 1/r is at least this.", Zh: "第一个相关记忆的名次为 r，1/r 不小于此值。"}, on, buildMRR).withKeys(relevant),
		define("ndcg", wording.Text{En: "The normalised discounted cumulative gain of the first k is at least min.", Zh: "前 k 个的归一化折损累计增益不小于 min。"}, on, buildNDCG).withKeys(relevant),
	}
}

// relevantWant are the gains of the relevant memories by their ids.
type relevantWant map[string]float64

// JSONSchema returns the schema of a list of ids, and of a map of gains.
func (relevantWant) JSONSchema() value.Value {
	return value.OfMap(value.Pairs("anyOf", value.OfList(
		value.OfMap(value.Pairs("type", "array", "minItems", 1, "items", value.OfMap(value.Pairs("type", "string")))),
		value.OfMap(value.Pairs("type", "object", "minProperties", 1, "additionalProperties", value.OfMap(value.Pairs("type", "number", "exclusiveMinimum", 0)))),
	)))
}

// DecodeValue reads both forms.
func (w *relevantWant) DecodeValue(v value.Value) error {
	gains := map[string]float64{}
	for _, id := range v.List() {
		text, _ := id.Str()
		gains[text] = 1
	}
	for id, gain := range v.Map().All() {
		gains[id], _ = gain.Float()
	}
	*w = gains
	return nil
}

// relevantOf reads the key relevant, which the matchers cannot do without.
func relevantOf(a *argument) (relevantWant, bool) {
	other, ok := a.take(keyRelevant)
	if !ok {
		a.report("", wording.Say("the relevant memories are missing"), wording.Say("add relevant: [id, ...] beside the matcher"))
		return nil, false
	}
	want, ok := decode[relevantWant](other, schema.MustFor[relevantWant]())
	*a.memories = append(*a.memories, other.memoriesIn(other.value)...)
	return want, ok
}

// memoriesIn returns the memories that the step of the check should find, as the value of relevant names them.
func (a *argument) memoriesIn(relevant value.Value) (all []Memory) {
	for i, id := range relevant.List() {
		text, _ := id.Str()
		all = append(all, Memory{ID: text, Step: a.subject.step, Pos: a.at(a.pointer + "/" + value.OfInt(int64(i)).JSON())})
	}
	for id := range relevant.Map().All() {
		all = append(all, Memory{ID: id, Step: a.subject.step, Pos: a.keyAt(a.pointer + "/" + value.Escape(id))})
	}
	return all
}

// givenMemories returns the memories that the matcher names with values known before the run: the row and the
// inputs. Values that cannot be rendered are reported when the check is evaluated.
func (m *parsedMatcher) givenMemories(row, inputs value.Value) []Memory {
	relevant, ok := m.beside[keyRelevant]
	if !ok || m.test != nil || !relevant.namesOnly(nameRow, nameInputs) {
		return nil
	}
	v, err := relevant.render(context.Background(), newScope(context.Background(), &Evidence{Row: row, Inputs: inputs}, nil))
	if err != nil {
		return nil
	}
	arg := m.arg
	arg.pointer = arg.prefix + "/" + keyRelevant
	return arg.memoriesIn(v)
}

// atWant is the share of relevant ids among the first k.
type atWant struct {
	K   int     `json:"k,omitempty" min:"1" doc:"How many of the first are looked at. Default: all."`
	Min float64 `json:"min" default:"1" min:"0" max:"1" doc:"What the figure must be at least."`
}

// scoreTest compares a figure with its bound.
func scoreTest(name string, min float64, score func(of *subject) float64) test {
	return func(_ context.Context, of *subject) *verdict {
		got := score(of)
		if got >= min-1e-12 {
			return pass().withScore(got)
		}
		v := failf("%s is %.3f, less than %.3f; found were %s", name, got, min, quoteList(of.ids))
		if len(of.ids) == 0 {
			v = failf("%s is %.3f, less than %.3f; no memory was found", name, got, min)
		}
		return v.withScore(got)
	}
}

// first returns the first k ids; all for 0.
func first(ids []string, k int) []string {
	if k == 0 || k > len(ids) {
		return ids
	}
	return ids[:k]
}

func buildRecall(want atWant, a *argument) test {
	relevant, ok := relevantOf(a)
	if !ok || !a.isBound("/min", want.Min) {
		return nil
	}
	return scoreTest("recall", want.Min, func(of *subject) float64 {
		found := 0
		for id := range relevant {
			if slices.Contains(first(of.ids, want.K), id) {
				found++
			}
		}
		return float64(found) / float64(len(relevant))
	})
}

func buildMRR(want boundWant, a *argument) test {
	relevant, ok := relevantOf(a)
	if !ok || !a.isBound("", want.Min) {
		return nil
	}
	return scoreTest("mrr", want.Min, func(of *subject) float64 {
		for i, id := range of.ids {
			if relevant[id] > 0 {
				return 1 / float64(i+1)
			}
		}
		return 0
	})
}

func buildNDCG(want atWant, a *argument) test {
	relevant, ok := relevantOf(a)
	if !ok || !a.isBound("/min", want.Min) {
		return nil
	}
	return scoreTest("ndcg", want.Min, func(of *subject) float64 { return ndcg(first(of.ids, want.K), relevant, want.K) })
}

// ndcg returns the normalised discounted cumulative gain of a list, whose best is cut at k as well. An id that was
// found twice counts once.
func ndcg(ids []string, gains relevantWant, k int) float64 {
	sum, seen := 0.0, map[string]bool{}
	for i, id := range ids {
		if !seen[id] {
			sum += gains[id] / math.Log2(float64(i+2))
		}
		seen[id] = true
	}
	best := make([]float64, 0, len(gains))
	for _, gain := range gains {
		best = append(best, gain)
	}
	slices.SortFunc(best, func(a, b float64) int {
		if a > b {
			return -1
		}
		return 1
	})
	if k > 0 && k < len(best) {
		best = best[:k]
	}
	ideal := 0.0
	for i, gain := range best {
		ideal += gain / math.Log2(float64(i+2))
	}
	return sum / ideal
}
