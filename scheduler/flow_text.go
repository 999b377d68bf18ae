package scheduler

import (
	"cmp"
	"path/filepath"

	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

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

// localPath returns the inverse of recordedPath on a machine where the project is in root.
func localPath(root, recorded string) string {
	path := filepath.FromSlash(recorded)
	if root == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(flow.Absolute(root), path)
}

// LocalFiles returns the path of a recorded flow, and its other files by their paths, on
// a machine where the project is in root: see [StepExecutor] Root. The run began with the file that is recorded; an edited
// text has its own.
func LocalFiles(root, recorded string, text journal.FlowText) (file string, files map[string][]byte) {
	files = make(map[string][]byte, len(text.Files))
	for path, content := range text.Files {
		files[localPath(root, path)] = content
	}
	return localPath(root, cmp.Or(text.File, recorded)), files
}
