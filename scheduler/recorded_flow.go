package scheduler

import (
	"cmp"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// adoptEdited compares an edited flow with the one that the run had. Steps that finished must be the same; the
// state of other steps is dropped if they changed. prefix precedes the ids of the flow's steps.
func adoptEdited(s *journal.RunState, prefix string, before, after *flow.Flow) error {
	for _, was := range before.Steps {
		id := prefix + was.ID
		is, ok := after.Step(was.ID)
		st := s.Step(id)
		if st == nil {
			continue
		}
		same := ok && value.Equal(was.Canonical(before), is.Canonical(after))
		switch {
		case st.State == journal.StepStatusFinished:
			if !same || was.Sub != nil && !value.Equal(was.Sub.Canonical(), is.Sub.Canonical()) {
				return calls.Errorf(calls.Invalid, "the step %s has finished, and the edited flow changes it", id).
					WithHint("leave it as it was, or run the flow again")
			}
		case !same:
			s.Forget(id)
		case was.Sub != nil:
			for _, path := range tasksOf(s, id) {
				if err := adoptEdited(s, path+"/", was.Sub, is.Sub); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tasksOf returns the ids of a step and of its items.
func tasksOf(s *journal.RunState, id string) []string {
	paths := []string{id}
	for _, item := range s.Step(id).Items {
		paths = append(paths, item.ID)
	}
	return paths
}

// DeclaredSteps lists the steps of a flow for [RunState.Complete].
func DeclaredSteps(flow *flow.Flow) []journal.DeclaredStep {
	steps := make([]journal.DeclaredStep, len(flow.Steps))
	for i, s := range flow.Steps {
		steps[i] = journal.DeclaredStep{ID: s.ID, Call: s.Call}
	}
	return steps
}

// recordedText returns a flow as the journal keeps it.
func recordedText(root string, f *flow.Flow) journal.FlowText {
	files := make(map[string][]byte, len(f.Files))
	for path, content := range f.Files {
		files[recordedPath(root, path)] = content
	}
	return journal.FlowText{Source: f.Source, Files: files}
}

// editedText returns an edited flow as the journal keeps it, with the text that the run had until now, which its last
// event ends. A text that nothing ran with is not kept.
func editedText(root string, f *flow.Flow, before journal.FlowText, lastSeq int64) journal.FlowText {
	text := recordedText(root, f)
	if before.Before != nil && before.Since > lastSeq {
		before = *before.Before
	}
	text.File, text.Since, text.Before = recordedPath(root, f.File), lastSeq+1, &before
	return text
}

// recordedPath returns a path as the journal keeps it: relative to root for a file in it,
// with slashes, else absolute.
func recordedPath(root, path string) string {
	path = flow.Absolute(path)
	if root == "" {
		return path
	}
	if rel, err := filepath.Rel(flow.Absolute(root), path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// portablePath returns a path for messages: relative to root for a file in it, else to the flow's folder. A
// relative path stays if there is no root. For example, /srv/shop/flows/order.yaml becomes flows/order.yaml
// if root is /srv/shop.
func portablePath(root, flowFile, path string) string {
	if root == "" && !filepath.IsAbs(path) {
		return filepath.ToSlash(path)
	}
	shown := recordedPath(root, path)
	if !filepath.IsAbs(shown) {
		return shown
	}
	rel, err := filepath.Rel(filepath.Dir(flow.Absolute(flowFile)), shown)
	if err != nil { // another volume
		return filepath.Base(shown)
	}
	return filepath.ToSlash(rel)
}

// localPath returns the inverse of recordedPath on a machine with the project in root.
func localPath(root, recorded string) string {
	path := filepath.FromSlash(recorded)
	if root == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(flow.Absolute(root), path)
}

// LocalFiles returns the path of a recorded flow, and its other files by their paths, on a machine with the
// project in root: see [StepExecutor] Root. The run began with the file that is recorded; an edited text has its
// own.
func LocalFiles(root, recorded string, text journal.FlowText) (file string, files map[string][]byte) {
	files = make(map[string][]byte, len(text.Files))
	for path, content := range text.Files {
		files[localPath(root, path)] = content
	}
	return localPath(root, cmp.Or(text.File, recorded)), files
}
