package config

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"github.com/callnode/scheduler/calls"
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
	// settings holds the file's settings only, each converted to its type.
	settings value.Value
}

// filePath returns the path of the file; "" if there is none.
func (f *settingsFile) filePath() string {
	if f == nil {
		return ""
	}
	return f.path
}

// placeErrors adds to settingErrors the source of each: the environment, a line of the file, or neither, for a
// setting that is missing. Other errors stay unchanged.
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

// positionOf returns the place of a setting in the file, or of the nearest setting around it: the key's place if
// the setting is unknown, else the value's.
func (f *settingsFile) positionOf(e settingError) flow.Position {
	n, key, _ := yaml.Walk(f.root, e.pointer)
	if e.unknown && key != nil {
		n = key
	}
	return flow.Position{File: f.path, Line: n.Line, Col: max(n.Column, 1)}
}
