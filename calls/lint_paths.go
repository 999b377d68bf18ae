package calls

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// IsComputed reports whether the parameters' value at a JSON pointer, or a part of it, is only known when the step
// runs.
func (e LintEnv) IsComputed(pointer string) bool {
	return slices.ContainsFunc(e.Computed, func(computed string) bool {
		return computed == pointer || strings.HasPrefix(computed, pointer+"/") || strings.HasPrefix(pointer, computed+"/")
	})
}

// OfTool returns the environment for the lint of a call that a model uses as a tool: the parameters have the
// tool's fixed parameters at a JSON pointer, and the model gives others.
func (e LintEnv) OfTool(pointer string) LintEnv {
	computed, beginnings := e.Computed, e.Beginnings
	e.Computed, e.Beginnings, e.IsOpen, e.Tries = nil, map[string]string{}, true, 0
	for _, p := range computed {
		if below, ok := strings.CutPrefix(p, pointer); ok {
			e.Computed = append(e.Computed, below)
			e.Beginnings[below] = beginnings[p]
		}
	}
	return e
}

// LintDirs finds, among parameters that name directories, parameters that lead to something else, such as a pipe,
// and warns of missing directories. Nothing is opened.
func (e LintEnv) LintDirs(params value.Value, names ...string) (problems []schema.Problem) {
	for _, name := range names {
		given, _ := params.Get(name)
		text, _ := given.Str()
		path, ok := e.pathOf(text)
		if !ok {
			continue
		}
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, schema.Problem{
				Pointer: "/" + name, Warning: true, Hint: "paths are relative to the flow file",
			}.WithMessage("there is no directory %s", text))
		} else if err == nil && !info.IsDir() {
			problems = append(problems, schema.Problem{Pointer: "/" + name, Hint: "name a directory"}.WithMessage("%s is not a directory", text))
		}
	}
	return problems
}

// LintFilesIn finds, among files in a directory that parameters name, pipes, devices and directories. A missing
// file is not reported: it may exist when the flow runs. If the parameter is not given, the usual files are
// checked.
func (e LintEnv) LintFilesIn(params value.Value, dir, list string, usual ...string) (problems []schema.Problem) {
	given, _ := params.Get(dir)
	text, _ := given.Str()
	root, ok := e.pathOf(text)
	if !ok {
		return nil
	}
	report := func(pointer, name string) {
		if errors.Is(CheckRegular(filepath.Join(root, name)), ErrNotRegular) {
			problems = append(problems, schema.Problem{Pointer: pointer, Hint: "name a file"}.WithMessage("%s is not a regular file", name))
		}
	}
	files, isGiven := params.Get(list)
	if !isGiven {
		for _, name := range usual {
			report("/"+dir, name)
		}
	}
	for i, file := range files.List() {
		name, _ := file.Str()
		if name == "" || !filepath.IsLocal(name) {
			continue
		}
		report("/"+list+"/"+value.OfInt(int64(i)).JSON(), name)
	}
	return problems
}

// pathOf returns the full path for a path written in the flow; ok is false if that is not known before the flow
// runs.
func (e LintEnv) pathOf(text string) (path string, ok bool) {
	if text == "" || e.Dir == "" || strings.HasPrefix(text, "~") {
		return "", false
	}
	if filepath.IsAbs(text) {
		return text, true
	}
	return filepath.Join(e.Dir, text), true
}
