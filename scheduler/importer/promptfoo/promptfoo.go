// Package promptfoo reads configurations of promptfoo: prompts become flows, tests become test files, providers
// settings. For example, the assertion {type: contains, value: tea} becomes a check with contains: tea. No code
// and no template of a configuration runs.
//
// [Read] is the entry. model.go has the data that is read: prompts.go reads prompts, nunjucks.go turns their
// templates into ours; providers.go reads providers, tests.go and csv.go tests, asserts.go their assertions,
// javascript.go the expressions among them that have an equal here. emit.go writes the files.
package promptfoo

import (
	"io/fs"
	"path"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/importer"
)

// Kind is the name of this kind of import.
const Kind = "promptfoo"

// Options are how an import is written.
type Options struct {
	// Name is the name of its files.
	Name string
	// Settings is the file of the settings with the providers.
	Settings string
	// Language is the language of the report.
	Language string
	// CheckItem returns the fault of an item of expect, so that no assertion is written that a test file may not have, for example
	// one that cannot fail; zero for nothing. nil: items are not looked at.
	CheckItem func(item value.Value) wording.Text
}

// Read reads the configuration at file in files, and the files that it names. Parts that were not read are in the
// report of the plan; an error means that the file is not a configuration.
func Read(files fs.FS, file string, o Options) (*importer.Plan, error) {
	r := &reader{files: files, dir: path.Dir(file), name: o.Name, settings: o.Settings, language: o.Language, checkItem: o.CheckItem, repeat: 1}
	data, err := calls.ReadFileFS(files, file, calls.AnyLength)
	if err != nil {
		return nil, err
	}
	root, err := yaml.Parse(data)
	if err != nil {
		return nil, err
	}
	if root == nil || yaml.Resolve(root).Kind != yaml.Mapping {
		return nil, wording.Errorf("%s is not a configuration of promptfoo: it has no keys", file)
	}
	r.main = r.addSource(path.Base(file), root)
	keys := membersOf(root)
	if keys["prompts"] == nil && keys["tests"] == nil && keys["providers"] == nil && keys["targets"] == nil && keys["scenarios"] == nil {
		return nil, wording.Errorf("%s is not a configuration of promptfoo: it has no prompts, providers or tests", file)
	}
	r.readKeys(keys)
	return r.plan(Kind, path.Base(file)), nil
}

// readKeys reads the keys at the top.
func (r *reader) readKeys(keys map[string]*yaml.Node) {
	s := r.main
	r.env = membersOf(keys["env"])
	if n := keys["description"]; n != nil {
		r.description = n.Value
		s.Keep(n)
	}
	if n := keys["prompts"]; n != nil {
		r.readPrompts(n)
	}
	for _, key := range []string{"providers", "targets"} {
		if n := keys[key]; n != nil {
			r.readProviders(n)
		}
	}
	r.defaults = &test{}
	r.hasTests, r.isRedTeam = keys["tests"] != nil || keys["scenarios"] != nil, keys["redteam"] != nil
	if n := keys["defaultTest"]; n != nil {
		r.defaults = r.readDefaultTest(n)
	}
	if n := keys["tests"]; n != nil {
		r.readTests(s, n)
	}
	if n := keys["scenarios"]; n != nil {
		r.readScenarios(s, n)
	}
	if r.isRedTeam && !r.hasTests {
		s.Drop(keys["defaultTest"], wording.Say("there are no tests that it is for"))
	}
	if n := keys["evaluateOptions"]; n != nil {
		r.readOptions(n)
	}
	for key, why := range map[string]wording.Text{
		"redteam":         wording.Say("attacks are not made here: import the tests that promptfoo made of them"),
		"outputPath":      wording.Say("write it at the command: scheduler test --report html=FILE"),
		"extensions":      wording.Say("code of extensions does not run here"),
		"derivedMetrics":  wording.Say("compute it from the lines of scheduler test --json"),
		"sharing":         wording.Say("results stay on this machine"),
		"tracing":         wording.Say("see the settings of telemetry"),
		"nunjucksFilters": wording.Say("filters in JavaScript do not run here"),
	} {
		s.Drop(keys[key], why)
	}
	if len(r.env) == 0 {
		s.Drop(keys["env"], wording.Say("set it in the environment: flows read secrets, tests inputs"))
	}
	r.dropUnusedEnv()
}

// dropUnusedEnv reports the values of env that no prompt and no check takes.
func (r *reader) dropUnusedEnv() {
	used := r.usedEnv()
	for name, n := range r.env {
		if slices.Contains(used, name) {
			r.main.Change(n, wording.Say("it is the default of the input %s", envInput+"."+name))
		} else {
			r.main.Drop(n, wording.Say("set it in the environment: flows read secrets, tests inputs"))
		}
	}
}

// envInput is the input for the values that templates know as env.NAME.
const envInput = "env"

// usedEnv returns the names of env that prompts and checks mention.
func (r *reader) usedEnv() (names []string) {
	for _, text := range r.templates() {
		refs, _ := prompt.Check(prompt.Source{Text: text})
		for _, ref := range refs {
			isEnv := len(ref.Path) > 2 && ref.Path[0] == "inputs" && ref.Path[1] == envInput
			if isEnv && !slices.Contains(names, ref.Path[2]) {
				names = append(names, ref.Path[2])
			}
		}
	}
	return names
}

// templates returns the texts of prompts and checks.
func (r *reader) templates() (texts []string) {
	for _, p := range r.prompts {
		for _, m := range p.messages {
			texts = append(texts, m.text)
		}
	}
	for _, t := range append(slices.Clone(r.tests), r.defaults) {
		for _, c := range t.checks {
			texts = append(texts, textsIn(c)...)
		}
	}
	return texts
}

// envProperty returns the schema of the input env: an object with a text for each name, and the configuration's
// values by default.
func (r *reader) envProperty(names []string) value.Value {
	properties, usual := value.NewMap(len(names)), value.NewMap(len(names))
	for _, name := range names {
		text, _ := textOf(r.env[name])
		properties.Set(name, value.OfMap(value.Pairs("type", "string", "default", text)))
		usual.Set(name, value.OfString(text))
	}
	return value.OfMap(value.Pairs("type", "object", "properties", value.OfMap(properties), "default", value.OfMap(usual)))
}

// readOptions reads evaluateOptions.
func (r *reader) readOptions(n *yaml.Node) {
	keys := membersOf(n)
	r.repeat = max(1, r.wholeNumber(keys["repeat"]))
	r.parallel = r.wholeNumber(keys["maxConcurrency"])
	r.main.Drop(keys["delay"], wording.Say("use rate limits of the provider in the settings"))
	r.main.Drop(keys["cache"], wording.Say("answers are recorded in cassettes: scheduler test --record"))
	r.main.Drop(keys["showProgressBar"], wording.Say("nothing here takes it"))
}

// wholeNumber reads a node that is a whole number; 0 if it is none.
func (r *reader) wholeNumber(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	v, err := yaml.Value(n)
	i, ok := v.Int()
	if err != nil || !ok || i < 1 || i > 10_000 {
		return 0
	}
	r.main.Keep(n)
	return int(i)
}
