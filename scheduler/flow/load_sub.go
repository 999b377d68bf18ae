package flow

import (
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// LoadInside is Load of a flow whose path came up in a run, perhaps from a model:
// it must be in root or below, links followed, and an error quotes nothing of a
// file that is not a flow.
func (l *Loader) LoadInside(root, path string) (*Flow, error) {
	base, full := Absolute(root), Absolute(path)
	rel, err := filepath.Rel(base, full)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, calls.Errorf(calls.Invalid, "%s", say("the flow %s is not in the folder %s", path, root)).
			WithHint("%s", say("flows whose path is only known in a run are beside the flow that runs them, or below"))
	}
	var src []byte
	if l.ReadFile != nil {
		src, err = l.ReadFile(path)
	} else if info, statErr := os.Stat(full); statErr == nil && !info.Mode().IsRegular() { // a pipe would wait for a writer
		return nil, calls.Errorf(calls.Invalid, "%s", say("%s is not a regular file", path))
	} else {
		src, err = l.read(base, full)
	}
	if err != nil {
		return nil, calls.Errorf(calls.NotFound, "%s: %w", say("cannot read the flow %s", path), withoutPath(err))
	}
	if pos, ok := looksLikeFlow(path, src); !ok {
		return nil, calls.Errorf(calls.Invalid, "%s", say("%s: this file is not a flow", pos))
	}
	inside := *l
	inside.hasUser = true // of the flow that runs it, or none: then the call refuses
	flow, problems := inside.Parse(path, src)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return flow, nil
}

// looksLikeFlow reports whether a file is a map with steps in it, each of which calls
// something; pos is where it is not.
func looksLikeFlow(file string, src []byte) (pos Position, ok bool) {
	text := newFlowText(file, src)
	pos = Position{file, 1, 1}
	if len(src) > yaml.MaxBytes || invalidUTF8(text.text) >= 0 {
		return pos, false
	}
	root, err := yaml.Parse(text.text)
	if err != nil || root == nil {
		return pos, false
	}
	pos = text.positionOf(root)
	steps, _, found := yaml.Walk(root, "/steps")
	if !found || yaml.Resolve(steps).Kind != yaml.Sequence || len(yaml.Resolve(steps).Content) == 0 {
		return pos, false
	}
	for _, step := range yaml.Resolve(steps).Content {
		if _, _, calls := yaml.Walk(step, "/call"); !calls {
			return text.positionOf(step), false
		}
	}
	return pos, true
}
