package flow

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Loader reads flow files and finds all their faults before anything runs. Names in a flow are looked up in the
// fields; a nil list is not checked, an empty one allows nothing.
//
// The program makes a Loader by its fields and may keep it as long as it likes: loading does not change it, so one
// serves any number of flows, also concurrently if its Registry, which only registering changes, and ReadFile
// allow that.
type Loader struct {
	// Registry has the calls and the variables.
	Registry *calls.Registry
	// Providers are the names that llm may have, Plugins the names of installed plugins, Secrets the names that
	// templates may use as secrets.NAME.
	Providers, Plugins, Secrets []string
	// Usual are the providers of flows and steps that name none, and Lacks the abilities that the models of providers
	// lack, by name of provider: words of [llm.Abilities].
	Usual []string
	Lacks map[string][]string
	// CheckHost returns the error of a request to a host that the network policy of this machine is sure to refuse; nil
	// checks none.
	CheckHost func(host, port string) error
	// Languages are the languages that flows may name; nil is not checked.
	Languages *Languages
	// MessageLanguage is the language of the problems of flows that name no language; "" is the flows' language.
	MessageLanguage string
	// Root is the directory that !file must stay in, links followed; "" is the
	// directory of the flow file itself.
	Root string
	// ReadFile reads a file by its path; nil reads from disk.
	ReadFile func(path string) ([]byte, error)
	// QueuedElsewhere leaves sub-flows with a queue to the workers of that queue: only their inputs and
	// outputs are read. Their plugins and files are not needed here, and problems in their steps are
	// not reported here.
	QueuedElsewhere bool
	// Overrides replace parameters of the loaded flow, but not of its sub-flows.
	Overrides []Override

	kept          *keptFiles // the files read before; nil: each file is read on every request
	recorded      bool       // ReadFile only has the files kept by a journal
	onlySignature bool       // see ForSignatures
	isSubFlow     bool       // see ForSubFlow
}

// Override is a parameter of a step that another value is laid over, as if the file had it: tests compare
// parameters by it. Path has the names below with; it is not empty.
type Override struct {
	Step  string
	Path  []string
	Value value.Value
}

// messageLanguage returns the language of problems if no flow names one.
func (l *Loader) messageLanguage() string {
	return cmp.Or(l.MessageLanguage, l.Languages.defaultName())
}

// keptFiles are files that were read, by the folder that they must be in and their path. It is safe for concurrent use.
type keptFiles struct {
	mu     sync.Mutex
	byPath map[[2]string][]byte // guarded by mu
}

// ReadingOnce returns a copy of the loader that reads each file once, even if it changes later: flows that it
// loads again, for example with other overrides, use the same texts. Copies of the copy share these files.
func (l *Loader) ReadingOnce() *Loader {
	once := *l
	once.kept = &keptFiles{byPath: map[[2]string][]byte{}}
	return &once
}

// read returns the content of a file. With a root the path may not leave it.
func (l *Loader) read(root, path string) ([]byte, error) {
	if l.kept == nil {
		return l.readNow(root, path)
	}
	l.kept.mu.Lock()
	defer l.kept.mu.Unlock()
	if content, ok := l.kept.byPath[[2]string{root, path}]; ok {
		return content, nil
	}
	content, err := l.readNow(root, path)
	if err == nil {
		l.kept.byPath[[2]string{root, path}] = content
	}
	return content, err
}

// readNow is read of a file that was not kept.
func (l *Loader) readNow(root, path string) ([]byte, error) {
	if l.ReadFile != nil {
		return l.ReadFile(path)
	}
	if root == "" {
		return calls.ReadFile(path, yaml.MaxBytes)
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	dir, err := calls.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return calls.ReadFileIn(dir, rel, yaml.MaxBytes)
}

// Absolute returns the path from the root; a resuming process may be in another folder.
func Absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

func unreadableProblem(pos Position, path string, err error) Problem {
	if errors.Is(err, fs.ErrNotExist) {
		p := newProblem(pos, "there is no file %s", path)
		p.hint("paths are relative to the flow file")
		return p
	}
	return newProblem(pos, "cannot read %s: %v", path, calls.WithoutPath(err))
}
