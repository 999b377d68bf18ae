package flow

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// loading is one Load: a flow with everything below it.
type loading struct {
	*Loader
	ctx     context.Context // of the one call of ParseContext that the loading is
	reports []Problems
	files   map[string][]byte // the files read beside the flow, by path
	flows   map[subFlow]*Flow // nil for one with errors
	// needed are the files that the flows which are being read need beside themselves, outermost first.
	needed []map[string][]byte
	// leniently has schemas without their conditions.
	leniently map[*schema.Schema]*schema.Schema
	texts     map[string]bool  // LANGUAGE/FOLDER of texts that were checked
	inner     map[string]*Flow // flows that calls run inside themselves, by path
	stack     []string         // the flows that are being read, outermost first
}

// readBeside reads a file that the flow needs beside itself, once.
func (ld *loading) readBeside(root, path string) ([]byte, error) {
	content, ok := ld.files[path]
	if !ok {
		var err error
		content, err = ld.read(root, path)
		if err != nil {
			return nil, err
		}
		ld.files[path] = content
	}
	for _, files := range ld.needed {
		files[path] = content
	}
	return content, nil
}

// subFlow is a flow that a step runs: the path of its file, and whether only its signature is read.
type subFlow struct {
	path        string
	isElsewhere bool
}

// unit is one flow file while it is turned into a Flow.
type unit struct {
	decoder
	loading *loading
	dir     string
	keys    flowKeys
	flow    *Flow
	// language is the language of the flow, its own or the one of the flow around it; messages is the language of its
	// problems.
	language, messages string
	// isElsewhere: other machines run it, and only its signature is read. See [Loader] QueuedElsewhere.
	isElsewhere bool

	steps []*stepUnit
	byID  map[string]int
	order *stepOrder
	// outputUses and the like are the names that templates outside steps mention.
	outputUses, errorUses, memoryUses, zoneUses []nameUse
	triggers                                    []*triggerInputs
	compared                                    int // names that were compared with mistyped ones
}

// isOver reports whether the work has to end: what was found until then is not returned.
func (ld *loading) isOver() bool { return ld.ctx.Err() != nil }

// eachStep iterates over the steps, until the work has to end.
func (u *unit) eachStep() iter.Seq[*stepUnit] { return untilOver(u.loading, u.steps) }

// untilOver iterates over a list that may be long, until the work has to end.
func untilOver[T any](ld *loading, list []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, item := range list {
			if ld.isOver() || !yield(item) {
				return
			}
		}
	}
}

// stepUnit is a step while it is loaded.
type stepUnit struct {
	*Step
	keys     *stepKeys
	with     *yaml.Node // nil without parameters
	known    bool       // Def is set
	uses     []nameUse  // of with
	whenUses []nameUse
	eachUses []nameUse
	approved []approvalUnit
	neededBy int          // 1 + the index of the last step that is known to need it
	needKeys []*yaml.Node // for each of Needs the node that says so, nil when implicit
}

// nameUse is a name that a template mentions, with its place in the file.
type nameUse struct {
	prompt.Ref
	within func(offset int) Position
	// template is the scalar that contains it.
	template *yaml.Node
}

func (u nameUse) pos() Position { return u.within(u.Offset) }

// triggerInputs are the inputs that a trigger sets, while they are compiled.
type triggerInputs struct {
	of     keyPlace // the trigger
	inputs anyKey
	param  *Param
	// scope is the one name that its templates know: schedule or webhook.
	scope string
	uses  []nameUse
	// isConversation is set for messages, which are not inputs.
	isConversation bool
}

// resolvePath returns the path of a file that the flow names, with the directory that it
// must stay in.
func (u *unit) resolvePath(name string) (path, root string, inside bool) {
	root = u.loading.Root
	if root == "" {
		root = u.dir
	}
	path = filepath.Join(u.dir, filepath.FromSlash(name))
	rel, err := filepath.Rel(root, path)
	return path, root, err == nil && !filepath.IsAbs(name) && filepath.IsLocal(rel)
}

// lintFiles reads files for calls that check their parameters.
type lintFiles struct{ unit *unit }

var _ calls.FileReader = lintFiles{}

var errNotRecorded = wording.Errorf("the record of the run does not have the file")

// ReadFile reads a file that a parameter names. Unlike the files of !file it may be outside of the flow's folder,
// as for calls that read files in a run.
func (f lintFiles) ReadFile(name string) (content []byte, path string, err error) {
	ld := f.unit.loading
	path, root, inside := f.unit.resolvePath(name)
	if filepath.IsAbs(name) {
		path = filepath.Clean(name)
	}
	if !inside { // a call may read it in a run
		root = ""
	}
	content, err = ld.readBeside(root, path)
	if ld.recorded && errors.Is(err, fs.ErrNotExist) {
		err = errNotRecorded
	}
	return content, path, err
}

// pathBeside returns the path of another flow that the flow names.
func (u *unit) pathBeside(path string) string {
	full := filepath.Clean(filepath.FromSlash(path))
	if !filepath.IsAbs(full) {
		full = filepath.Join(u.dir, full)
	}
	return full
}
