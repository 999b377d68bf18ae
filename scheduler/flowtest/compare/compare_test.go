package compare_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/test/slow"
)

// makeCase returns a case with one repeat for each letter: p passes, f fails, e is an error.
func makeCase(name, outcomes string, pieces ...result.Piece) *result.Case {
	c := &result.Case{Name: name, Planned: len(outcomes), Outcome: result.Pass}
	for i, letter := range outcomes {
		o := map[rune]result.Outcome{'p': result.Pass, 'f': result.Fail, 'e': result.Error}[letter]
		c.Outcome = result.Worse(c.Outcome, o)
		checks := []result.Check{{Metric: "truth", Outcome: o, Weight: 1}}
		c.Repeats = append(c.Repeats, result.Repeat{
			Number: i + 1, Outcome: o, Checks: checks, Score: result.MeanScore(checks), Usage: llm.Usage{InputTokens: 10 * (i + 1)}, Pieces: pieces,
		})
	}
	return c
}

func makeRun(mode result.Mode, cases ...*result.Case) *result.Run {
	return &result.Run{Mode: mode, Suites: []*result.Suite{{File: "a.test.yaml", Cases: cases}}}
}

func compareRuns(before, after *result.Run) *compare.Comparison {
	return compare.Compare(compare.NewBaseline(before), compare.NewBaseline(after), "main", 1)
}

// manyCases returns cases that all ended as the letters say.
func manyCases(n int, outcomes string) (all []*result.Case) {
	for i := range n {
		all = append(all, makeCase(fmt.Sprint("case ", i), outcomes))
	}
	return all
}

func TestReplaysAreComparedExactly(t *testing.T) {
	before := makeRun(result.Replay, makeCase("a", "p"), makeCase("b", "f"), makeCase("gone", "p"))
	after := makeRun(result.Replay, makeCase("a", "f"), makeCase("b", "p"), makeCase("new", "p"))
	c := compareRuns(before, after)
	if !c.Exact || c.Pairs != 2 || !c.Regressed(compare.FailOnSignificant) || c.Regressed(compare.FailOnNone) {
		t.Errorf("one case that passed fails: %+v", c)
	}
	if got := c.Regressions(); len(got) != 1 || got[0].ID != "a" {
		t.Errorf("regressions %+v", got)
	}
	if !reflect.DeepEqual(c.Added, []string{"new"}) || !reflect.DeepEqual(c.Removed, []string{"gone"}) {
		t.Errorf("added %v, removed %v", c.Added, c.Removed)
	}
	if same := compareRuns(before, before); same.Regressed(compare.FailOnAny) || len(same.Changes) > 0 {
		t.Errorf("a run differs from itself: %+v", same)
	}
}

func TestSixChangesAreTheFewest(t *testing.T) {
	// One metric is tested beside the passes, so that it takes 7: see stat.FewestChanges.
	for changed, want := range map[int]bool{6: false, 7: true} {
		before, after := manyCases(20, "p"), manyCases(20, "p")
		copy(after, manyCases(changed, "f"))
		c := compareRuns(makeRun(result.Live, before...), makeRun(result.Live, after...))
		if got := c.Regressed(compare.FailOnSignificant); got != want || c.FewestChanges != 7 {
			t.Errorf("%d of 20 fail: regressed %v, fewest %d; %+v", changed, got, c.FewestChanges, c.Metrics)
		}
		if !c.Regressed(compare.FailOnAny) {
			t.Error("--fail-on any fails on one")
		}
		if m := c.Metrics[0]; m.Name != compare.PassMetric || m.Method != compare.McNemar || m.Worse != changed || m.P == nil || m.Interval == nil {
			t.Errorf("%+v", m)
		}
	}
}

func TestRepeatsArePermuted(t *testing.T) {
	before, after := manyCases(10, "pppp"), manyCases(10, "ppff")
	c := compareRuns(makeRun(result.Live, before...), makeRun(result.Live, after...))
	m := c.Metrics[0]
	if m.Method != compare.Permutation || m.Effect != -0.5 || !m.IsRegression() {
		t.Errorf("%+v", m)
	}
	for _, cs := range before { // all cases are in one group: that proves nothing
		cs.Cluster = "one"
	}
	for _, cs := range after {
		cs.Cluster = "one"
	}
	c = compareRuns(makeRun(result.Live, before...), makeRun(result.Live, after...))
	if m := c.Metrics[0]; m.Significant || m.Interval != nil {
		t.Errorf("ten cases of one cluster: %+v", m)
	}
	if last := c.Metrics[len(c.Metrics)-1]; last.Name != compare.TokensMeasure || last.P != nil || last.Before != 25 {
		t.Errorf("tokens %+v", last)
	}
}

func TestErrorsAndCurtailedCases(t *testing.T) {
	before := makeRun(result.Live, makeCase("a", "pppp"), makeCase("b", "e"))
	after := makeRun(result.Live, makeCase("a", "ff"), makeCase("b", "p"))
	after.Suites[0].Cases[0].Planned = 4
	c := compareRuns(before, after)
	if c.Pairs != 1 || !slices.Equal(c.Undecided, []string{"b"}) || !c.Curtailed {
		t.Errorf("%+v", c)
	}
	if m := c.Metrics[0]; m.Before != 1 || m.After != 0 {
		t.Errorf("verdicts: %+v", m)
	}
	none := compareRuns(makeRun(result.Live), after)
	if len(none.Metrics) != 0 || none.Regressed(compare.FailOnAny) {
		t.Errorf("nothing to compare: %+v", none)
	}
}

func TestPromptChanges(t *testing.T) {
	piece := func(name, role, digest string, tokens int) result.Piece {
		return result.Piece{Step: "answer", Prompt: 1, Kind: "file", Name: name, Role: role, Tokens: tokens, Digest: digest}
	}
	out := result.Piece{Step: "answer", Kind: "world_book", Name: "The keeper", Tokens: 31, Reason: "budget 400", Detail: "needs 31, 12 left"}
	keeper := result.Piece{Step: "answer", Prompt: 1, Kind: "world_book", Name: "The keeper", Role: "system", Tokens: 31, Digest: "k"}
	before := []result.Piece{piece("A", "system", "1", 10), piece("B", "system", "2", 5), keeper, piece("C", "system", "3", 7), piece("D", "user", "4", 2), piece("old", "user", "5", 3)}
	after := []result.Piece{piece("B", "system", "2", 5), piece("A", "system", "9", 48), piece("C", "system", "8", 7), piece("D", "system", "4", 2), piece("new", "user", "6", 4), out}
	c := compareRuns(makeRun(result.Replay, makeCase("x", "p", before...), makeCase("y", "p", before...)), makeRun(result.Replay, makeCase("x", "p", after...), makeCase("y", "p", after...)))
	var got []string
	for _, p := range c.Prompt {
		got = append(got, strings.Join(strings.Fields(fmt.Sprint(p.Name, " ", p.What, " ", p.Tokens, " ", p.Reason, " ", p.From, " ", p.To, " ", len(p.Cases))), " "))
	}
	want := []string{"old gone -3 2", "A resized 38 2", "C edited 0 2", "D moved 0 user system 2", "new in 4 2", "The keeper out -31 budget 400: needs 31, 12 left 2"}
	want = append(want, "A order 0 2")
	if !slices.Equal(got, want) {
		t.Errorf("changes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A piece with the same text may have another source now. A record of an earlier version does not name the source.
func TestPromptSourcesChange(t *testing.T) {
	piece := func(sources ...string) result.Piece {
		return result.Piece{Step: "answer", Prompt: 1, Kind: "identity", Name: "identity", Role: "system", Tokens: 4, Digest: "1", Sources: sources}
	}
	for _, test := range []struct {
		was, is []string
		want    string
	}{
		{[]string{"flow", "inputs.who"}, []string{"flow", "inputs.question"}, "inputs.who > inputs.question"},
		{[]string{"flow"}, []string{"flow", "inputs.question"}, " > inputs.question"},
		{[]string{"flow", "file A.md"}, []string{"flow"}, "file A.md > "},
		{[]string{"flow", "inputs.who"}, []string{"inputs.who", "flow"}, ""},
		{nil, []string{"flow"}, ""},
	} {
		c := compareRuns(makeRun(result.Replay, makeCase("x", "p", piece(test.was...))), makeRun(result.Replay, makeCase("x", "p", piece(test.is...))))
		got := ""
		for _, p := range c.Prompt {
			got += p.From + " > " + p.To
			if p.What != compare.Sourced || p.Tokens != 0 {
				t.Errorf("%+v", p)
			}
		}
		if got != test.want {
			t.Errorf("from %q to %q: %q, want %q", test.was, test.is, got, test.want)
		}
	}
}

// A cost of nothing, for example without prices, is not shown.
func TestNoCost(t *testing.T) {
	withCost := func(cost float64) *result.Run {
		c := makeCase("x", "p")
		for i := range c.Repeats {
			c.Repeats[i].Usage.Cost, c.Repeats[i].PriceKnown = cost, true
		}
		return makeRun(result.Replay, c)
	}
	for _, cost := range []float64{0, 0.5} {
		c := compareRuns(withCost(0), withCost(cost))
		isThere := slices.ContainsFunc(c.Metrics, func(m compare.Metric) bool { return m.Name == compare.CostMeasure })
		if isThere != (cost > 0) {
			t.Errorf("a cost of %v: %+v", cost, c.Metrics)
		}
	}
}

// Equal runs of cases that pass by chance raise an alarm in one of twenty comparisons at most.
func TestEqualRunsPass(t *testing.T) {
	slow.Test(t)
	random := rand.New(rand.NewPCG(1, 2))
	sampled := func(chances []float64) *result.Run {
		var cases []*result.Case
		for i, chance := range chances {
			outcomes := ""
			for range 3 {
				letter := "f"
				if random.Float64() < chance {
					letter = "p"
				}
				outcomes += letter
			}
			cases = append(cases, makeCase(fmt.Sprint(i), outcomes))
		}
		return makeRun(result.Live, cases...)
	}
	alarms := 0
	for range 200 {
		chances := make([]float64, 12)
		for i := range chances {
			chances[i] = random.Float64()
		}
		for _, m := range compareRuns(sampled(chances), sampled(chances)).Metrics {
			if m.Significant {
				alarms++
				break
			}
		}
	}
	if alarms > 10 {
		t.Errorf("%d of 200 equal runs look different", alarms)
	}
}

func TestBlessAndFind(t *testing.T) {
	files := compare.Files{Root: t.TempDir()}
	files.Last = filepath.Join(files.Root, "last.jsonl")
	run := makeRun(result.Replay, makeCase("a <b>", "pf"))
	run.Suites = append(run.Suites, &result.Suite{File: "b.test.yaml", Cases: []*result.Case{makeCase("b", "p")}})
	file, err := files.Bless("main", run, nil)
	if err != nil || filepath.Base(file) != "main.test.baseline.json" {
		t.Fatal(file, err)
	}
	got, err := files.Find("main")
	if err != nil || !reflect.DeepEqual(got, compare.NewBaseline(run)) {
		t.Errorf("%+v, %v", got, err)
	}
	// A run of one file leaves the others as they were.
	if _, err := files.Bless("main", makeRun(result.Replay, makeCase("a <b>", "p")), nil); err != nil {
		t.Fatal(err)
	}
	got, err = files.Find(file)
	if err != nil || len(got.Suites) != 2 || got.Suites[0].Cases[0].C != 1 || len(got.Suites[1].Cases) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	// A run of some cases leaves those that are still there.
	some := makeRun(result.Replay, makeCase("new", "p"))
	if _, err := files.Bless("main", some, func(_, id string) bool { return id != "b" }); err != nil {
		t.Fatal(err)
	}
	got, err = files.Find("main")
	if err != nil || len(got.Suites[0].Cases) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	gone := func(string, string) bool { return false }
	if _, err := files.Bless("main", makeRun(result.Replay, makeCase("a <b>", "p")), gone); err != nil {
		t.Fatal(err)
	}
	got, err = files.Find("main")
	if err != nil || len(got.Suites[0].Cases) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	var lines bytes.Buffer
	if _, err := files.Find(compare.Last); err == nil || !strings.Contains(err.Error(), "no test run before") {
		t.Errorf("no last run: %v", err)
	}
	if err := result.WriteLines(&lines, run); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files.Last, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = files.Find(compare.Last)
	if err != nil || !reflect.DeepEqual(got, compare.NewBaseline(run)) {
		t.Errorf("last: %+v, %v", got, err)
	}
	for _, name := range []string{"last", "a/b", "", "x.json", ".hidden"} {
		if _, err := files.Bless(name, run, nil); err == nil {
			t.Errorf("a baseline may be called %q", name)
		}
	}
	if _, err := files.Find("mian"); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "mian") {
		t.Errorf("unknown: %v", err)
	}
	for _, broken := range []string{"", "[]", `{"version": 9}`, `{"type":"case"`} {
		if err := os.WriteFile(filepath.Join(files.Root, "bad"+compare.Suffix), []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Find("bad"); err == nil {
			t.Errorf("%q is read", broken)
		}
	}
}
