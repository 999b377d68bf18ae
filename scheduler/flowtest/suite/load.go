package suite

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
)

// Suffix is what test files are called behind the name of their flow.
const Suffix = ".test.yaml"

// SnapshotSuffix ends the name of the file of snapshots: a.test.yaml has a.test.snapshots.yaml.
const SnapshotSuffix = ".snapshots.yaml"

// maxCases bounds how many cases the rows and variants of a file may come to.
const maxCases = 100_000

// MaxRepeat bounds how often a case runs, as the key repeat does.
const MaxRepeat = 1000

// Loader reads test files, and finds everything that is wrong in them before anything runs. The program makes
// one by its fields. Loading does not change it, so one serves any number of files, also concurrently.
type Loader struct {
	// Flows reads the flows. Its providers and plugins are those that test files may name too.
	Flows *flow.Loader
	// Root is the folder of the project, from which results name files; "" is the working directory.
	Root string
	// Language is that of problems, and of reasons to skip a case.
	Language string
	// Repeat is how often cases will run, instead of what they say; 0 leaves it to them.
	Repeat int
}

// Load reads a test file and the flows that it tests. The suite is nil when a problem is an error;
// that the context has ended is one.
func (l *Loader) Load(ctx context.Context, path string) (*Suite, flow.Problems) {
	src, err := calls.ReadFile(path, yaml.MaxBytes)
	if err != nil {
		at := flow.Position{File: path, Line: 1, Col: 1}
		return nil, flow.Problems{flow.NewProblem(at, wording.Say("cannot read the test file: %w", withoutPath(err)), wording.Text{})}.Localized(l.Language)
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
		elsewhere := func(p flow.Problem) string { // those of the test file come first, then file by file
			if p.Pos.File == path {
				return ""
			}
			return p.Pos.File
		}
		return cmp.Or(cmp.Compare(elsewhere(a), elsewhere(b)), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	problems := r.withoutMany(slices.Compact(r.problems)).Localized(l.Language)
	if problems.HasErrors() {
		return nil, problems.Errors() // what is odd beside them may come from these
	}
	return s, problems
}

// NameOf returns what results call a file: its path from the folder of the project, with slashes.
func (l *Loader) NameOf(path string) string { return relativeTo(l.Root, path) }

// maxDataProblems is how many problems of a file of data are told; the others are counted.
const maxDataProblems = 20

// withoutMany returns the problems without those of a file of data that are too many to be read: how many they are is told.
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

// relativeTo returns a path from a folder, with slashes; the path itself where there is no way from one to the other.
func relativeTo(root, path string) string {
	from, err := filepath.Abs(cmp.Or(root, "."))
	to, errTo := filepath.Abs(path)
	if errors.Join(err, errTo) == nil {
		if rel, err := filepath.Rel(from, to); err == nil {
			path = rel
		}
	}
	return filepath.ToSlash(path)
}

// withoutPath returns the error without the path that the message has already.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// read makes the suite. What does not fit is left out of the value, and the rest read all the same, so that all that
// is wrong is found at once.
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
	r.readDataset()
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

// readFileSettings reads what is not about cases.
func (r *reader) readFileSettings(s *Suite) {
	if r.keys.Judge != nil {
		s.JudgeLLM = r.keys.Judge.LLM
		r.checkProvider("/judge/llm", s.JudgeLLM)
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

// loadedFlow is a flow of the file: its path as the file writes it, where that is, and what read it.
type loadedFlow struct {
	name, path string
	flow       *flow.Flow
	loader     *flow.Loader
}

// loadFlows loads the flows that the file names, or the one beside it.
func (r *reader) loadFlows(doc value.Value) {
	matrix, _ := doc.Get("matrix")
	lists := map[string]value.Value{}
	for key, holder := range map[string]value.Value{"/flow": doc, "/flows": doc, "/matrix/flow": matrix} {
		if v, ok := holder.Get(key[strings.LastIndexByte(key, '/')+1:]); ok {
			lists[key] = v
		}
	}
	if len(lists) > 1 {
		r.report(slices.Sorted(maps.Keys(lists))[1], wording.Say("the flows are given twice"), wording.Say("keep one of flow, flows and matrix.flow"))
	}
	for _, key := range []string{"/flow", "/flows", "/matrix/flow"} {
		v, ok := lists[key]
		if !ok {
			continue
		}
		if name, isText := v.Str(); isText {
			r.loadFlow(key, name)
		}
		for i, item := range v.List() {
			if name, isText := item.Str(); isText {
				r.loadFlow(key+"/"+itoa(i), name)
			}
		}
		return
	}
	name, isNamed := strings.CutSuffix(filepath.Base(r.shown), Suffix)
	if !isNamed {
		r.report("", wording.Say("the file names no flow"), wording.Say("add flow: PATH, or call the file NAME.test.yaml beside NAME.yaml"))
		return
	}
	r.loadFlow("", name+".yaml")
}

// loadFlow loads one flow, once.
func (r *reader) loadFlow(pointer, name string) {
	if slices.ContainsFunc(r.flows, func(f *loadedFlow) bool { return f.name == name }) {
		r.report(pointer, wording.Say("the flow %s is given twice", name), wording.Text{})
		return
	}
	path, err := r.folder().Find(name)
	if err != nil {
		r.report(pointer, wording.Say("cannot read the flow %s: %w", name, err), files.Hint(err))
		return
	}
	if _, err := os.Stat(path); err != nil {
		message := wording.Say("cannot read the flow %s: %w", name, withoutPath(err))
		hint := wording.Of(value.DidYouMeanOrList(name, flowsIn(r.dir)))
		if pointer == "" {
			hint = wording.Say("name the flow that is tested: flow: PATH")
		}
		r.report(pointer, message, hint)
		return
	}
	f, problems := r.loader.Flows.Load(path)
	r.problems = append(r.problems, problems.Errors()...)
	if f != nil {
		r.flows = append(r.flows, &loadedFlow{name: name, path: path, flow: f, loader: r.loader.Flows})
	}
}

// flowsIn lists the flows of a folder.
func flowsIn(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, Suffix) && !strings.HasSuffix(name, SnapshotSuffix) && !strings.HasSuffix(name, ".cassette.yaml") {
			names = append(names, name)
		}
	}
	return names
}
