package flow

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
)

// pathParams are the parameters of calls that name a file or a folder which is read while the
// flow runs.
func pathParams() []string {
	return []string{"workspace", "builtin_skills", "config_path", "openapi"}
}

// UsedFile is a file or a folder that a step reads while it runs: unlike [Flow] Files it is not kept with a run.
// [Flow.UsedFiles] makes it; it is only data.
type UsedFile struct {
	// Step is the id of the step, Param the parameter that names the file.
	Step, Param string
	Pos         Position
	// Path is its path; relative paths of the flow start at its folder.
	Path string
}

// UsedFiles lists the files and folders that the flow and its sub-flows name literally, but not the ones that
// templates compute.
func (f *Flow) UsedFiles() []UsedFile {
	var all []UsedFile
	for _, s := range f.Steps {
		if s.Sub != nil {
			all = append(all, s.Sub.UsedFiles()...)
		}
		all = append(all, s.usedFiles(f.File)...)
	}
	return all
}

// usedFiles lists the files and folders that a step of the flow in a file names.
func (s *Step) usedFiles(file string) (all []UsedFile) {
	with, _ := s.With.Static()
	for _, name := range pathParams() {
		v, _ := with.Get(name)
		if s.With != nil {
			for _, m := range s.With.Map {
				if m.Key == name {
					v, _ = m.Static()
				}
			}
		}
		path, isText := v.Str()
		if !isText || path == "" || isDocument(path) || strings.HasPrefix(path, "~") {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		all = append(all, UsedFile{Step: s.ID, Param: name, Pos: s.With.PosAt("/" + name), Path: path})
	}
	return all
}

// isDocument reports whether the text of a parameter is the document itself, or its address,
// and not the path of a file.
func isDocument(text string) bool {
	return strings.ContainsAny(text, "\n{") || strings.Contains(text, "://")
}

// WithoutQueued returns a copy of the flow without the sub-flows that run on a queue. A machine needs the rest itself;
// workers of the queues run the others.
func (f *Flow) WithoutQueued() *Flow {
	own := *f
	own.Steps = slices.Clone(f.Steps)
	for i, s := range own.Steps {
		if s.Sub == nil {
			continue
		}
		step := *s
		step.Sub = nil
		if queue := cmp.Or(s.Queue, s.Sub.Queue); queue == "" {
			step.Sub = s.Sub.WithoutQueued()
		}
		own.Steps[i] = &step
	}
	return &own
}

// QueuedStep is a step whose flow a worker of a queue carries out as a run of its own.
// [Flow.QueuedSteps] makes it; it is only data.
type QueuedStep struct {
	// Step is the id of the step, File the path of the flow that it runs.
	Step, File, Queue string
}

// QueuedSteps lists the steps of the flow, and of the sub-flows that run in its process, whose flows
// have a queue.
func (f *Flow) QueuedSteps() (all []QueuedStep) {
	for _, s := range f.Steps {
		if s.Sub == nil {
			continue
		}
		if queue := cmp.Or(s.Queue, s.Sub.Queue); queue != "" {
			all = append(all, QueuedStep{s.ID, s.Sub.File, queue})
			continue
		}
		all = append(all, s.Sub.QueuedSteps()...)
	}
	return all
}

// SecretNames returns the names of the secrets that the flow and its sub-flows mention.
func (f *Flow) SecretNames() []string {
	var names []string
	visit := func(ref prompt.Ref) {
		if len(ref.Path) > 1 && ref.Path[0] == "secrets" && !slices.Contains(names, ref.Path[1]) {
			names = append(names, ref.Path[1])
		}
	}
	for _, p := range []*Param{f.User, f.Session, f.Timezone, f.Outputs, f.OnError} {
		p.EachRef(visit)
	}
	for _, s := range f.Steps {
		for _, p := range append([]*Param{s.When, s.ForEach, s.With}, s.approvalParams()...) {
			p.EachRef(visit)
		}
		if s.Sub == nil {
			continue
		}
		for _, name := range s.Sub.SecretNames() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
