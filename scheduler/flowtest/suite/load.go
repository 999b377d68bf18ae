package suite

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
)

// MaxRepeat bounds how often a case runs, as the key repeat does.
const MaxRepeat = 1000

// Load reads a test file and the flows that it tests. The suite is nil when a problem is an error;
// that the context has ended is one.
func (l *Loader) Load(ctx context.Context, path string) (*Suite, flow.Problems) {
	src, err := calls.ReadFile(path, yaml.MaxBytes)
	if err != nil {
		at := flow.Position{File: path, Line: 1, Col: 1}
		return nil, flow.Problems{flow.NewProblem(at, wording.Say("cannot read the test file: %w", calls.WithoutPath(err)), wording.Text{})}.Localized(l.Language)
	}
	return l.Parse(ctx, path, src)
}

// Parse is Load of a text that was read before. Paths in it are relative to the folder of path, which also
// names the file in problems.
func (l *Loader) Parse(ctx context.Context, path string, src []byte) (*Suite, flow.Problems) {
	flows, own := l.Flows.ReadingOnce(), *l
	flows.MessageLanguage, own.Flows = l.Language, flows
	r := &reader{
		loader: &own, shown: path, file: l.NameOf(path), dir: filepath.Dir(path),
		literals: map[*yaml.Node]value.Value{}, templates: map[*yaml.Node]*template{}, seen: map[flow.Position]bool{},
		mocked: map[string]*Mock{}, wrong: map[string]bool{}, dataFiles: map[string]bool{}, otherFiles: map[string]bool{},
	}
	s := r.read(ctx, src)
	slices.SortStableFunc(r.problems, func(a, b flow.Problem) int {
		elsewhere := func(p flow.Problem) string { // problems of the test file come first, then file by file
			if p.Pos.File == path {
				return ""
			}
			return p.Pos.File
		}
		return cmp.Or(cmp.Compare(elsewhere(a), elsewhere(b)), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	problems := r.withoutMany(slices.Compact(r.problems)).Localized(l.Language)
	if problems.HasErrors() {
		return nil, problems.Errors() // warnings beside them may come from these
	}
	return s, problems
}

// maxDataProblems is how many problems of a file of data are reported; the others are counted.
const maxDataProblems = 20

// withoutMany returns the problems, but replaces those of a data file with too many by their number.
func (r *reader) withoutMany(all flow.Problems) (kept flow.Problems) {
	counts := map[string]int{}
	for _, p := range all {
		counts[p.Pos.File]++
	}
	told := map[string]int{}
	for _, p := range all {
		file := p.Pos.File
		told[file]++
		left := counts[file] - maxDataProblems
		if !r.dataFiles[file] || told[file] <= maxDataProblems || left == 1 {
			kept = append(kept, p)
		} else if told[file] == maxDataProblems+1 {
			kept = append(kept, flow.NewProblem(p.Pos, wording.Say("and %d more problems from here on", left), wording.Text{}))
		}
	}
	return kept
}

// read makes the suite. It leaves out values that do not fit, and reads the rest all the same, so that all
// problems are found at once.
func (r *reader) read(ctx context.Context, src []byte) *Suite {
	doc, ok := r.parse(src)
	if !ok {
		return nil
	}
	doc, fits := r.checkKeys(doc)
	if fits {
		if err := value.Decode(fileSchema().ApplyDefaults(doc), &r.keys); err != nil {
			r.report("", wording.OfError(err), wording.Text{})
			return nil
		}
	}
	r.loadFlows(doc)
	if len(r.flows) == 0 {
		return nil
	}
	if !r.readDataset() {
		return nil
	}
	r.parseChecks(doc)
	if !fits {
		return nil
	}
	s := &Suite{File: r.file, Path: r.shown, Dir: r.dir, NameOf: r.loader.NameOf}
	for _, f := range r.flows {
		s.Flows = append(s.Flows, f.flow)
	}
	r.readFileSettings(s)
	r.checkMatrix()
	r.expandCases(ctx, s)
	s.DataFiles = slices.Sorted(maps.Keys(r.dataFiles))
	s.DataFiles = slices.AppendSeq(s.DataFiles, maps.Keys(r.otherFiles))
	slices.Sort(s.DataFiles)
	return s
}

// readFileSettings reads the settings that are not about cases.
func (r *reader) readFileSettings(s *Suite) {
	if r.keys.Judge != nil {
		s.JudgeLLM = r.keys.Judge.LLM.Text()
		r.checkProviders("/judge/llm", s.JudgeLLM)
	}
	if k := r.keys.Limits; k != nil {
		s.Limits = Limits{Parallel: k.Parallel, Cost: k.Cost, Tokens: k.Tokens, Time: r.duration("/limits/time", k.Time), Pos: r.at("/limits")}
		s.Limits.Pos.File = r.file
		r.checkLimitOfCost(k.Cost)
	}
}

// checkLimitOfCost reports a limit of 0, which would be none.
func (r *reader) checkLimitOfCost(cost float64) {
	if _, _, isGiven := yaml.Walk(r.root, "/limits/cost"); isGiven && cost == 0 {
		r.reportOnce(r.at("/limits/cost"), wording.Say("a limit of the cost must be more than 0"), wording.Say("to ask no model, run with the answers that are recorded, without --record and --live"))
	}
}
