package scheduler

import (
	"context"
	"maps"
	"path/filepath"
	"sync"

	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// subflowLoader loads the flows whose path only comes up in a run, and keeps their text in
// the journal: an earlier process and this one run the same. The whole run has one, and
// its sub-flows share it; it is safe for concurrent use.
type subflowLoader struct {
	loader *flow.Loader
	// root is the flow of the whole run, dir the folder of the project.
	root *flow.Flow
	dir  string
	// log is nil without a journal.
	log journal.RunLog

	mu   sync.Mutex
	text journal.FlowText // what the journal has; guarded by mu
}

// loadFlow loads a flow from the text that the journal has, else from its file, whose text
// the journal then gets. queue is that of the step that runs it.
func (l *subflowLoader) loadFlow(ctx context.Context, file, queue string) (*flow.Flow, error) {
	loader := l.loader.ForSubFlow(queue)
	if l.log == nil {
		return l.loadBeside(loader, file)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	file = flow.Absolute(file)
	name := recordedPath(l.dir, file)
	if source, ok := l.text.Files[name]; ok {
		_, files := LocalFiles(l.dir, "", l.text)
		loaded, problems := loader.LoadText(file, source, files)
		return loaded, problems.Err()
	}
	loaded, err := l.loadBeside(loader, file)
	if err != nil {
		return nil, err
	}
	all, added := maps.Clone(l.text.Files), recordedText(l.dir, loaded)
	if all == nil {
		all = map[string][]byte{}
	}
	all[name] = added.Source
	maps.Copy(all, added.Files)
	l.text.Files = all
	return loaded, l.log.Revise(ctx, l.text)
}

// loadBeside loads a flow from its file: it must be in the folder of the root flow, and is
// in its language unless it names one.
func (l *subflowLoader) loadBeside(loader *flow.Loader, file string) (*flow.Flow, error) {
	if loader.Languages != nil && l.root.Language != "" {
		languages := *loader.Languages
		languages.Default = l.root.Language
		loader.Languages = &languages
	}
	return loader.LoadInside(filepath.Dir(l.root.File), file)
}
