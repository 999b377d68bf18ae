package promptfoo

import (
	"path"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/importer"
)

// readDefaultTest reads the settings of all tests.
func (r *reader) readDefaultTest(n *yaml.Node) *test {
	if file, ok := textOf(n); ok {
		s, root := r.openTests(r.main, n, file)
		if s == nil {
			return &test{}
		}
		return r.readTest(s, root)
	}
	return r.readTest(r.main, n)
}

// readTests reads tests: a list, or files of them.
func (r *reader) readTests(s *importer.Source, n *yaml.Node) {
	for _, item := range itemsOf(n) {
		if file, ok := textOf(item); ok {
			r.readTestFiles(s, item, file)
			continue
		}
		if keys := membersOf(item); keys["path"] != nil {
			s.Drop(item, wording.Say("tests that code makes are not read: write them into a file"))
			continue
		}
		r.tests = append(r.tests, r.readTest(s, item))
	}
}

// readTestFiles reads the files of tests that a text names.
func (r *reader) readTestFiles(s *importer.Source, n *yaml.Node, file string) {
	names := r.filesLike(file)
	if len(names) == 0 {
		s.Drop(n, wording.Say("no file is like this"))
	}
	for _, name := range names {
		if path.Ext(name) == ".csv" {
			r.readCSV(s, n, name)
			continue
		}
		if opened, root := r.openTests(s, n, name); opened != nil {
			r.readTests(opened, root)
		}
	}
}

// openTests opens a file of YAML, JSON or JSON lines; nil if it is none.
func (r *reader) openTests(s *importer.Source, n *yaml.Node, file string) (opened *importer.Source, root *yaml.Node) {
	switch path.Ext(file) {
	case ".yaml", ".yml", ".json", ".jsonl":
	default:
		s.Drop(n, wording.Say("tests are read from files of YAML, JSON, JSON lines and CSV"))
		return nil, nil
	}
	data, at, err := r.readFile(file)
	if err != nil {
		s.Drop(n, wording.Say("%s was not read: %w", file, err))
		return nil, nil
	}
	if path.Ext(file) == ".jsonl" {
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		data = []byte("[" + strings.Join(lines, ",\n") + "]")
	}
	root, err = yaml.Parse(data)
	if err != nil {
		s.Drop(n, wording.Say("%s was not read: %w", file, err))
		return nil, nil
	}
	if root == nil {
		s.Drop(n, wording.Say("%s was not read: it is empty", file))
		return nil, nil
	}
	s.Keep(n)
	return r.addSource(r.shown(at), root), root
}

// readTest reads one test.
func (r *reader) readTest(s *importer.Source, n *yaml.Node) *test {
	keys := membersOf(n)
	t := &test{vars: value.NewMap(0)}
	for _, key := range []string{"description", "name"} {
		if text, ok := textOf(keys[key]); ok {
			t.name = text
			s.Keep(keys[key])
		}
	}
	for _, item := range itemsOf(keys["vars"]) {
		if file, ok := textOf(item); ok {
			r.readVarFiles(s, t, item, file)
		} else {
			r.readVars(s, t, item)
		}
	}
	for _, item := range itemsOf(keys["assert"]) {
		r.readAssert(s, t, item, "")
	}
	if n := keys["threshold"]; n != nil {
		t.threshold = valueOf(n)
		s.Keep(n)
	}
	r.readMetadata(s, t, keys["metadata"])
	r.readTestOptions(s, t, keys["options"])
	for _, key := range []string{"provider", "providers", "prompts", "providerOutput", "assertScoringFunction"} {
		if keys[key] != nil {
			s.Drop(keys[key], wording.Say("a case runs with all flows and providers of its file: write another file for it"))
			t.lose(key)
		}
	}
	return t
}

// readMetadata takes metadata as tags.
func (r *reader) readMetadata(s *importer.Source, t *test, n *yaml.Node) {
	if n == nil {
		return
	}
	at := yaml.Resolve(n)
	for i := 0; at.Kind == yaml.Mapping && i+1 < len(at.Content); i += 2 {
		text, ok := textOf(at.Content[i+1])
		if !ok || text == "" {
			s.Drop(at.Content[i+1], wording.Say("tags are texts"))
			continue
		}
		t.tags = append(t.tags, at.Content[i].Value+"="+text)
		s.Change(at.Content[i+1], wording.Say("it is a tag"))
	}
}

// readTestOptions reads the options of a test. The case does not run if an option changes the answer before the
// assertions see it.
func (r *reader) readTestOptions(s *importer.Source, t *test, n *yaml.Node) {
	for key, member := range membersOf(n) {
		switch key {
		case "transform", "postprocess", "transformVars", "prefix", "suffix":
			s.Drop(member, wording.Say("code that changes texts does not run here: write it as a step of the flow"))
			t.lose(key)
		case "storeOutputAs":
			s.Drop(member, wording.Say("cases are independent: write the steps into one flow"))
			t.lose(key)
			if name, ok := textOf(member); ok && !slices.Contains(r.stored, name) {
				r.stored = append(r.stored, name)
			}
		case "provider", "rubricPrompt":
			s.Drop(member, wording.Say("name the judge in the test file: judge: {llm: NAME}"))
		case "disableVarExpansion":
			t.isWhole, _ = valueOf(member).Bool()
			s.Keep(member)
		default:
			s.Drop(member, wording.Say("nothing here takes it"))
		}
	}
	slices.Sort(t.lost)
}

// readVarFiles reads the variables of the files that a text names.
func (r *reader) readVarFiles(s *importer.Source, t *test, n *yaml.Node, file string) {
	names := r.filesLike(file)
	if len(names) == 0 {
		s.Drop(n, wording.Say("no file is like this"))
		t.lose("vars")
	}
	for _, name := range names {
		opened, root := r.openTests(s, n, name)
		if opened == nil || yaml.Resolve(root).Kind != yaml.Mapping {
			s.Drop(n, wording.Say("variables are read from files of YAML and JSON with their names"))
			t.lose("vars")
			continue
		}
		r.readVars(opened, t, root)
	}
}

// readVars reads variables: files become their text, and templates in values stay text.
func (r *reader) readVars(s *importer.Source, t *test, n *yaml.Node) {
	at := yaml.Resolve(n)
	for i := 0; at.Kind == yaml.Mapping && i+1 < len(at.Content); i += 2 {
		key, node := at.Content[i].Value, at.Content[i+1]
		if key == "assert" && yaml.Resolve(node).Kind == yaml.Sequence { // written one level too deep, the test would assert nothing
			s.Drop(node, wording.Say("assert stands below vars, where it is a variable: move it beside vars"))
			t.lose("vars.assert")
			continue
		}
		v := valueOf(node)
		text, isText := v.Str()
		s.Keep(node)
		if isText && strings.HasPrefix(text, "file://") {
			data, file, err := r.readFile(text)
			if err != nil || slices.Contains([]string{".js", ".py", ".ts"}, path.Ext(file)) {
				s.Drop(node, wording.Say("the value comes from code or from a file that was not read"))
				t.lose(key)
				continue
			}
			text, err := value.DecodeText(data)
			if strings.Contains(text, "\x00") {
				err = wording.Errorf("the file is not a text")
			}
			if err != nil {
				s.Drop(node, wording.Say("%s was not read: %w", r.shown(file), err))
				t.lose(key)
				continue
			}
			v = value.OfString(text)
			s.Change(node, wording.Say("the text of the file is in the test file"))
		} else if isText && strings.Contains(text, "{{") {
			s.Change(node, wording.Say("a value is not a template here: the names of other variables of the test are replaced, the rest stays as it is written"))
		}
		t.vars.Set(inputName(key), v)
	}
}

// readScenarios reads scenarios: each of their configurations with each of their tests.
func (r *reader) readScenarios(s *importer.Source, n *yaml.Node) {
	for _, item := range itemsOf(n) {
		keys := membersOf(item)
		description, hasDescription := textOf(keys["description"])
		s.Keep(keys["description"])
		var configs []*test
		for _, config := range itemsOf(keys["config"]) {
			configs = append(configs, r.readTest(s, config))
		}
		before := len(r.tests)
		if keys["tests"] != nil {
			r.readTests(s, keys["tests"])
		}
		own := slices.Clone(r.tests[before:])
		r.tests = r.tests[:before]
		for _, c := range configs {
			for _, t := range own {
				both := t.over(c)
				if hasDescription {
					both.name = strings.TrimSuffix(description+": "+both.name, ": ")
				}
				r.tests = append(r.tests, both)
			}
		}
	}
}
