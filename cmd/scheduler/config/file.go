package config

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
)

// settingsFile is the text of a settings file with the places in it. The library
// that merges the settings keeps no places, and drops a section of the wrong shape.
type settingsFile struct {
	path string
	root *yaml.Node // nil: the file is empty, or there is none
	// settings are those of the file alone, each of the type that its setting has.
	settings value.Value
}

// filePath returns the path of the file; "" where there is none.
func (f *settingsFile) filePath() string {
	if f == nil {
		return ""
	}
	return f.path
}

// parseSettings parses a settings file and checks it against the schema of [Settings].
func parseSettings(path string, text []byte) (*settingsFile, error) {
	f := &settingsFile{path: path}
	root, err := yaml.Parse(text)
	if err == nil && root != nil {
		f.root = root
		f.settings, err = yaml.Value(root)
	}
	if fault := (*yaml.Error)(nil); errors.As(err, &fault) {
		return nil, flow.Problems{{Pos: flow.Position{File: path, Line: fault.Line, Col: max(fault.Col, 1)}, Message: fault.Msg}}
	}
	if err != nil || root == nil {
		return f, err
	}
	s := configSchema()
	f.settings = asSettings(f.settings, s.Doc())
	if wrong := checkSettings(f.settings, s, new(Settings)); len(wrong) > 0 {
		return nil, f.placeErrors(wrong)
	}
	return f, nil
}

// configSchema returns the schema of the settings. Those of a provider depend on its
// type and are checked by [ProviderType].
func configSchema() *schema.Schema { return schema.MustFor[Settings]() }

// asSettings returns v with every scalar as the type that schema doc wants, for text is
// all that the environment has, and a file may say 5 for "5". Lists may be texts with
// commas, a list of one section is that section, keys may have any case, and a setting without a value is left out: it keeps
// its default.
func asSettings(v, doc value.Value) value.Value {
	kind, _ := doc.Get("type")
	want, _ := kind.Str()
	text, isText := v.Str()
	if !isText && v.Kind() != value.Object && v.Kind() != value.List {
		text = v.JSON()
	}
	items, _ := doc.Get("items")
	itemKind, _ := items.Get("type")
	isOneOfList := v.Kind() == value.Object && value.Equal(itemKind, value.OfString("object"))
	switch {
	case v.IsNull():
		return v
	case isOneOfList:
		return asSettings(value.OfList(v), doc)
	case v.Kind() == value.Object:
		return memberSettings(v, doc)
	case v.Kind() == value.List:
		list := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			list[i] = asSettings(item, items)
		}
		return value.OfList(list...)
	case want == "string":
		return value.OfString(text)
	case want == "array" && value.Equal(itemKind, value.OfString("string")):
		return value.Must(strings.Split(text, ","))
	case want == "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return value.OfBool(b)
		}
	case want == "integer" || want == "number":
		if n, err := value.OfNumber(text); err == nil {
			return n
		}
	}
	return v
}

// memberSettings is [asSettings] of a section.
func memberSettings(v, doc value.Value) value.Value {
	properties, _ := doc.Get("properties")
	section := value.NewMap(v.Map().Len())
	for key, member := range v.Map().All() {
		name := strings.ToLower(key)
		property, known := properties.Get(name)
		if !known {
			section.Set(key, member)
			continue
		}
		member = asSettings(member, property)
		if !member.IsNull() {
			section.Set(name, member)
		}
	}
	return value.OfMap(section)
}

// checkSettings returns all that is wrong in v; where nothing is, it decodes v into
// target.
func checkSettings(v value.Value, s *schema.Schema, target any) (all settingErrors) {
	for _, p := range s.Check(v) {
		unknown := p.Keyword == "additionalProperties"
		if unknown && p.Hint == "" {
			p = p.WithHint("the settings are printed by scheduler init --settings")
		}
		message, hint := p.Text()
		all = append(all, settingError{pointer: p.Pointer, unknown: unknown, message: message, hint: hint})
	}
	if len(all) == 0 {
		all = decodeSettings(v, target)
	}
	return all
}

// decodeSettings decodes v, which fits its schema, into target.
func decodeSettings(v value.Value, target any) settingErrors {
	err := value.Decode(v, target)
	if err == nil {
		return nil
	}
	pointer, cause := value.SplitError(err)
	return settingErrors{{pointer: pointer, message: wording.OfError(cause)}}
}

// settingNames returns the names of all settings, such as run.max_parallel.
func settingNames() (names []string) {
	var walk func(doc value.Value, section string)
	walk = func(doc value.Value, section string) {
		properties, _ := doc.Get("properties")
		for key, property := range properties.Map().All() {
			if _, isSection := property.Get("properties"); isSection {
				walk(property, section+key+".")
				continue
			}
			names = append(names, section+key)
		}
	}
	walk(configSchema().Doc(), "")
	return names
}

// UnknownVariables returns the names of variables that look like settings and are none,
// each with the setting that it may be meant to be.
// They may be those of another program: no error, but worth a warning.
func UnknownVariables(environment []string) (names []string) {
	known := map[string]bool{}
	for _, setting := range settingNames() {
		known[settingVariable(setting)] = true
	}
	for _, entry := range environment {
		name, text, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "SCHEDULER_") && !known[name] && text != "" {
			names = append(names, name+value.DidYouMeanSuffix(name, slices.Sorted(maps.Keys(known))).En)
		}
	}
	return names
}

// settingVariable returns the environment variable that overrides a setting.
func settingVariable(setting string) string {
	return "SCHEDULER_" + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
}

// settingError is what is wrong with one setting.
type settingError struct {
	pointer string // of the setting, such as /llm/providers/1/name
	unknown bool   // there is no such setting
	message wording.Text
	hint    wording.Text
}

// settingErrors are what is wrong with the settings.
type settingErrors []settingError

// wrongSetting returns the error of a setting, such as llm.providers[1].name.
func wrongSetting(setting, format string, args ...any) error {
	err := wording.Errorf(format, args...)
	pointer := "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(setting)
	return settingErrors{{pointer: pointer, message: wording.OfError(err), hint: hintOf(err)}}
}

// hintOf returns the hint of an error.
func hintOf(err error) wording.Text {
	return wording.Text{En: calls.HintOf(err), Zh: calls.HintIn(err, "zh")}
}

// Error returns a line for each.
func (e settingErrors) Error() string { return e.In("en") }

// In returns a line for each, in a language.
func (e settingErrors) In(language string) string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].text().In(language)
	}
	return strings.Join(lines, "\n")
}

// prefixPointers returns the errors with a pointer put before theirs.
func (e settingErrors) prefixPointers(pointer string) settingErrors {
	for i := range e {
		e[i].pointer = pointer + e[i].pointer
	}
	return e
}

// settingName returns the name of the setting; "" for the file as a whole.
func (e settingError) settingName() string {
	var name strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(e.pointer, "/"), "/") {
		if _, err := strconv.Atoi(token); err == nil {
			name.WriteString("[" + token + "]")
			continue
		}
		if name.Len() > 0 {
			name.WriteString(".")
		}
		name.WriteString(token)
	}
	return name.String()
}

// text returns the setting and what is wrong with it.
func (e settingError) text() wording.Text {
	if e.pointer == "" {
		return e.message
	}
	if e.unknown {
		return wording.Say("unknown setting %q", e.settingName())
	}
	return wording.Say("%s: %s", e.settingName(), e.message)
}

// placeErrors adds to settingErrors where each comes from: the environment, a line of the
// file, or neither, for a setting that is missing. Other errors stay as they are.
func (f *settingsFile) placeErrors(err error) error {
	var wrong settingErrors
	if !errors.As(err, &wrong) {
		return err
	}
	if variable := settingVariable(wrong[0].settingName()); os.Getenv(variable) != "" {
		return calls.Errorf(calls.Invalid, "the environment variable %s: %s", variable, wrong[0].text()).WithHint("%s", wrong[0].hint)
	}
	if f == nil || f.root == nil {
		return wording.Errorf("in the settings: %w", err)
	}
	problems := make(flow.Problems, len(wrong))
	for i, w := range wrong {
		problems[i] = flow.NewProblem(f.positionOf(w), w.text(), w.hint)
	}
	slices.SortStableFunc(problems, func(a, b flow.Problem) int {
		return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col)
	})
	return problems
}

// positionOf returns the place of a setting in the file, or of what is nearest around it:
// that of the key where it is unknown, else that of the value.
func (f *settingsFile) positionOf(e settingError) flow.Position {
	n, key, _ := yaml.Walk(f.root, e.pointer)
	if e.unknown && key != nil {
		n = key
	}
	return flow.Position{File: f.path, Line: n.Line, Col: max(n.Column, 1)}
}
