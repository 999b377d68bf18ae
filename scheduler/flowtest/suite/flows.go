package suite

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
)

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
				r.loadFlow(key+"/"+strconv.Itoa(i), name)
			}
		}
		return
	}
	name, isNamed := strings.CutSuffix(filepath.Base(r.shown), Suffix)
	if !isNamed {
		r.report("", wording.Say("the file names no flow"), wording.Say("add flow: PATH, or call the file NAME.test.yaml beside NAME.yaml"))
		return
	}
	r.loadFlow("", r.nameFlow(name))
}

// nameFlow returns the name of the flow file with a stem beside the test file: NAME.yaml if there is none.
func (r *reader) nameFlow(stem string) string {
	for _, suffix := range flow.FileSuffixes() {
		if _, err := os.Stat(filepath.Join(r.dir, stem+suffix)); err == nil {
			return stem + suffix
		}
	}
	return stem + flow.FileSuffixes()[0]
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
		message := wording.Say("cannot read the flow %s: %w", name, calls.WithoutPath(err))
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
		if slices.Contains(flow.FileSuffixes(), filepath.Ext(name)) && !strings.HasSuffix(name, Suffix) && !strings.HasSuffix(name, SnapshotSuffix) && !strings.HasSuffix(name, ".cassette.yaml") {
			names = append(names, name)
		}
	}
	return names
}

// checkStep reports a step that a flow does not have; flows of steps are named as in outer/inner.
func (r *reader) checkStep(pos flow.Position, id string) {
	for _, f := range r.flows {
		if _, ok := f.flow.FindStep(id); !ok {
			r.reportOnce(pos, wording.Say("the flow %s has no step %q", f.name, id), wording.Of(value.DidYouMeanOrList(id, stepIDs(f.flow))))
		}
	}
}

// checkAsking is checkStep of a step that asks a model: it may also be in a flow that is only known in the run, or that a tool runs.
func (r *reader) checkAsking(pos flow.Position, id string) {
	around := id
	for i := strings.LastIndex(around, "/"); i > 0; i = strings.LastIndex(around, "/") {
		around = around[:i]
		isInside := func(f *loadedFlow) bool {
			s, ok := f.flow.FindStep(around)
			return ok && s.Sub == nil && runsInside(s)
		}
		if slices.ContainsFunc(r.flows, isInside) {
			id = around
		}
	}
	r.checkStep(pos, id)
}

// stepsCalled returns the steps with an id, of all flows of the file.
func (r *reader) stepsCalled(id string) (steps []*flow.Step) {
	for _, f := range r.flows {
		if s, ok := f.flow.Step(id); ok {
			steps = append(steps, s)
		}
	}
	return steps
}

// runsInside reports whether a step runs calls or flows inside itself.
func runsInside(s *flow.Step) bool { return s.Def.Runs != nil || s.Call == flow.CallFlow }

func stepIDs(f *flow.Flow) (ids []string) {
	for _, s := range f.Steps {
		ids = append(ids, s.ID)
	}
	return ids
}

// checkProviders is [reader.checkProvider] for names as [llm.ParseNames] reads them; in the file they are a text, or a list.
func (r *reader) checkProviders(pointer, names string) {
	for i, name := range llm.ParseNames(names) {
		at := pointer + "/" + strconv.Itoa(i)
		if _, _, isItem := yaml.Walk(r.root, at); !isItem {
			at = pointer
		}
		r.checkProvider(at, name)
	}
}

// checkProvider reports a provider that the settings do not have.
func (r *reader) checkProvider(pointer, name string) {
	known := r.loader.Flows.Providers
	if name == "" || known == nil || slices.Contains(known, name) {
		return
	}
	hint := wording.Of(value.DidYouMeanOrList(name, known))
	if file := r.providersFile(name); file != "" {
		hint = wording.Say("%[1]s has it: copy its llm into the settings, or add --config %[1]s", file)
	}
	r.reportOnce(r.at(pointer), wording.Say("unknown provider %q", name), hint)
}

// ProvidersSuffix ends the name of a file with the providers that imported tests want, used if the project had
// settings before.
const ProvidersSuffix = ".providers.yaml"

// providersFile returns the file beside an imported test file that has a provider; "" for none.
func (r *reader) providersFile(name string) string {
	file := strings.TrimSuffix(r.shown, Suffix) + ProvidersSuffix
	data, err := calls.ReadFile(file, yaml.MaxBytes)
	if err != nil {
		return ""
	}
	settings, err := yaml.ParseValue(data)
	if err != nil {
		return ""
	}
	providers, _ := settings.At("/llm/providers")
	for _, p := range providers.List() {
		own, _ := p.Get("name")
		if text, _ := own.Str(); text == name {
			return file
		}
	}
	return ""
}
