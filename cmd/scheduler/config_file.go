package main

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler"
)

// settingsFile is the text of a settings file with the places in it. The library
// that merges the settings knows no places, and drops a section of the wrong shape.
type settingsFile struct {
	path     string
	root     *yaml.Node // nil: the file is empty, or there is none
	problems scheduler.Problems
}

// name is the path of the file; "" where there is none.
func (f *settingsFile) name() string {
	if f == nil {
		return ""
	}
	return f.path
}

// checkSettings holds the text of a settings file to Config: it reports all keys
// that are unknown and all values of the wrong shape.
func checkSettings(path string, text []byte) (*settingsFile, error) {
	f := &settingsFile{path: path}
	root, err := yaml.Parse(text)
	if fault := (*yaml.Error)(nil); errors.As(err, &fault) {
		f.problem(&yaml.Node{Line: fault.Line, Column: fault.Col}, "%s", fault.Msg)
		return nil, f.problems
	}
	if err != nil {
		return nil, err
	}
	if f.root = root; root != nil {
		f.check(root, reflect.TypeFor[Config](), "the file")
	}
	return f, f.problems.Err()
}

func (f *settingsFile) problem(n *yaml.Node, format string, args ...any) *scheduler.Problem {
	f.problems = append(f.problems, scheduler.Problem{
		Pos:     scheduler.Position{File: f.path, Line: n.Line, Col: max(n.Column, 1)},
		Message: fmt.Sprintf(format, args...),
	})
	return &f.problems[len(f.problems)-1]
}

// check holds a node to the type that it is read into. Nothing at all leaves the
// default, in every place.
func (f *settingsFile) check(n *yaml.Node, t reflect.Type, name string) {
	n = yaml.Resolve(n)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Interface || n.Kind == yaml.Scalar && n.Tag == "!!null":
	case t.Kind() == reflect.Struct && n.Kind == yaml.Mapping:
		f.checkSection(n, t, name)
	case t.Kind() == reflect.Struct:
		f.problem(n, "%s wants settings below it, as name: value", name)
	case t.Kind() == reflect.Slice && n.Kind == yaml.Sequence:
		for i, item := range n.Content {
			f.check(item, t.Elem(), fmt.Sprintf("%s[%d]", name, i))
		}
	case t.Kind() == reflect.Slice && (n.Kind != yaml.Scalar || t.Elem().Kind() != reflect.String):
		f.problem(n, "%s wants a list", name)
	case t.Kind() == reflect.Slice: // a text of several, with commas, as in the environment
	case n.Kind != yaml.Scalar:
		f.problem(n, "%s wants %s", name, wantedScalar(t))
	default:
		if err := scalarFits(n.Value, t); err != nil {
			f.problem(n, "%s is %q, %s", name, n.Value, err)
		}
	}
}

// checkSection checks the keys of a section, and what is below them.
func (f *settingsFile) checkSection(n *yaml.Node, t reflect.Type, name string) {
	section := ""
	if n != f.root {
		section = name + "."
	}
	var known []string
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("mapstructure"); key != "" {
			known = append(known, key)
			fields[key] = t.Field(i).Type
		}
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		lower := strings.ToLower(key.Value) // as the library reads it
		field, ok := fields[lower]
		switch line := seen[lower]; {
		case !ok:
			p := f.problem(key, "unknown setting %q", section+key.Value)
			p.Hint = "the settings are printed by scheduler init --settings"
			if near := value.Nearest(key.Value, known); near != "" {
				p.Hint = fmt.Sprintf("did you mean %q?", near)
			}
		case line > 0:
			f.problem(key, "the setting %q stands twice, first in line %d", section+key.Value, line)
		default:
			seen[lower] = key.Line
			f.check(n.Content[i+1], field, section+lower)
		}
	}
}

// scalarFits says what is wrong with the text of a scalar that is read into t.
func scalarFits(text string, t reflect.Type) error {
	var err error
	switch {
	case t == reflect.TypeFor[time.Duration]():
		if _, err = strconv.ParseFloat(text, 64); err == nil && text != "0" {
			return fmt.Errorf("a duration without a unit: write %ss or %sms", text, text)
		}
		if text != "0" {
			_, err = time.ParseDuration(text)
		}
	case t.Kind() == reflect.Bool:
		_, err = strconv.ParseBool(text)
	case t.Kind() == reflect.Int:
		_, err = strconv.Atoi(text)
	}
	if err != nil {
		return errors.New("want " + wantedScalar(t))
	}
	return nil
}

// wantedScalar names what a setting takes.
func wantedScalar(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 5s, 500ms or 2m"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int:
		return "a whole number"
	}
	return "a text"
}

// settings gives the settings below a section, with what they are read into.
func settings(t reflect.Type, section string) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for i := range t.NumField() {
			key, field := t.Field(i).Tag.Get("mapstructure"), t.Field(i).Type
			switch {
			case key == "":
			case field.Kind() == reflect.Struct:
				for setting, t := range settings(field, section+key+".") {
					if !yield(setting, t) {
						return
					}
				}
			case !yield(section+key, field):
				return
			}
		}
	}
}

// checkEnvironment holds the variables of settings to what they are read into.
func checkEnvironment() error {
	for setting, t := range settings(reflect.TypeFor[Config](), "") {
		variable := settingVariable(setting)
		if text := os.Getenv(variable); text != "" {
			if err := scalarFits(text, t); err != nil {
				return fmt.Errorf("the environment variable %s is %q, %w", variable, text, err)
			}
		}
	}
	return nil
}

// strangeVariables are the names of variables that look like settings, and are none.
// They may be those of another program: no error, but not nothing either.
func strangeVariables(environment []string) (names []string) {
	known := map[string]bool{}
	for setting := range settings(reflect.TypeFor[Config](), "") {
		known[settingVariable(setting)] = true
	}
	for _, entry := range environment {
		name, text, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "SCHEDULER_") && !known[name] && text != "" {
			names = append(names, name+didYouMean(name, slices.Sorted(maps.Keys(known))))
		}
	}
	return names
}

// settingVariable is the environment variable that goes over a setting.
func settingVariable(setting string) string {
	return "SCHEDULER_" + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
}

// settingError is what is wrong with a setting, such as llm.providers[1].name.
type settingError struct {
	setting string
	err     error
}

func wrongSetting(setting, format string, args ...any) error {
	return &settingError{setting, fmt.Errorf(format, args...)}
}

func (e *settingError) Error() string { return e.setting + " " + e.err.Error() }
func (e *settingError) Unwrap() error { return e.err }

// place says where a wrong setting comes from: the environment, a line of the file, or
// neither, for one that is missing.
func (f *settingsFile) place(err error) error {
	wrong := (*settingError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	if variable := settingVariable(wrong.setting); os.Getenv(variable) != "" {
		return fmt.Errorf("the environment variable %s: %w", variable, err)
	}
	if f == nil || f.root == nil {
		return fmt.Errorf("in the settings: %w", err)
	}
	pointer := "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(wrong.setting)
	n, _, _ := yaml.Walk(f.root, pointer)
	return scheduler.Problems{{Pos: scheduler.Position{File: f.path, Line: n.Line, Col: n.Column}, Message: err.Error(), Hint: calls.HintOf(err)}}
}
