package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// Library is the flows below some folders, found by ids: the path of a flow below its folder,
// without suffix and with ~ for the slash. A flow is read again when one of its files has
// changed. [Service.NewLibrary] makes one for the life of a process; it is safe for
// concurrent use.
type Library struct {
	service *Service
	roots   []string
	// onWorker: see NewWorkerLibrary.
	onWorker bool

	mu     sync.Mutex // guards the fields below
	loaded map[string]*LibraryFlow
}

// LibraryFlow is a flow of a [Library]. It does not change.
type LibraryFlow struct {
	ID string
	// File is its path.
	File string
	// Flow is nil if errors are among the problems.
	Flow     *flow.Flow
	Problems flow.Problems
	Source   []byte
	// Hash is the hash of all its files, in hex.
	Hash string
	// Language is the flow's; for a flow with errors the previous one, or the one that its text names.
	Language string
}

// NewLibrary returns the flows below the folders. Of two with the same id, the one in the first folder counts.
func (s *Service) NewLibrary(roots []string) *Library {
	return &Library{service: s, roots: roots, loaded: map[string]*LibraryFlow{}}
}

// NewWorkerLibrary is NewLibrary for a worker: of the flows that have a queue, and that steps run,
// the library reads only the signature, for other workers carry them out.
func (s *Service) NewWorkerLibrary(roots []string) *Library {
	l := s.NewLibrary(roots)
	l.onWorker = true
	return l
}

// Flows returns all flows, sorted by their ids.
func (l *Library) Flows() ([]*LibraryFlow, error) {
	found := map[string]string{}
	for _, root := range l.roots {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && name != root {
				return filepath.SkipDir
			}
			if id, ok := flowID(root, name); ok && entry.Type().IsRegular() && found[id] == "" {
				found[id] = root
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var all []*LibraryFlow
	for _, id := range slices.Sorted(maps.Keys(found)) {
		one, err := l.Flow(id)
		if calls.KindOf(err) == calls.NotFound {
			continue // not a flow, or gone in the meantime
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// flowID returns the id of a file below root; ok is false if its name is not a flow's.
func flowID(root, name string) (id string, ok bool) {
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return "", false
	}
	rel = filepath.ToSlash(rel)
	stem := strings.TrimSuffix(rel, path.Ext(rel))
	if !slices.Contains(flow.FileSuffixes(), path.Ext(rel)) || strings.Contains(path.Base(stem), ".") {
		return "", false
	}
	return idOfPath(stem), true
}

// idOfPath returns the id of the flow at a path below its folder, without suffix.
func idOfPath(stem string) string { return strings.ReplaceAll(stem, "/", "~") }

// pathOfID returns the path of a flow below its folder, without suffix, by its id or by that path.
func pathOfID(id string) string {
	stem := strings.ReplaceAll(id, "~", "/")
	if slices.Contains(flow.FileSuffixes(), path.Ext(stem)) {
		stem = strings.TrimSuffix(stem, path.Ext(stem))
	}
	return stem
}

// IDOf returns the id of the flow of a file; ok is false if it is in none of the folders.
func (l *Library) IDOf(file string) (id string, ok bool) {
	for _, root := range l.roots {
		if id, ok := flowID(root, file); ok && fs.ValidPath(pathOfID(id)) {
			return id, true
		}
	}
	return "", false
}

// FileOf returns the file of a flow by its id, its path below a folder, or its absolute path: also for one that
// does not exist, which would be below the first folder. ok is false if it would be in none of the folders.
func (l *Library) FileOf(name string) (file string, ok bool) {
	if found, err := l.Flow(name); err == nil {
		return found.File, true
	}
	for _, root := range l.roots {
		if rel, err := filepath.Rel(root, name); filepath.IsAbs(name) && err == nil {
			name = filepath.ToSlash(rel)
			break
		}
	}
	rel := strings.ReplaceAll(name, "~", "/")
	if !fs.ValidPath(rel) || len(l.roots) == 0 {
		return "", false
	}
	if !slices.Contains(flow.FileSuffixes(), path.Ext(rel)) {
		rel += flow.FileSuffixes()[0]
	}
	return filepath.Join(l.roots[0], filepath.FromSlash(rel)), true
}

// Flow returns a flow by its id, or by its path below a folder. The error for an unknown one
// is of kind NotFound.
func (l *Library) Flow(id string) (*LibraryFlow, error) {
	stem := pathOfID(id)
	if !fs.ValidPath(stem) || stem == "." || strings.ContainsAny(stem, "\\\x00") {
		return nil, l.unknownFlow(id)
	}
	for _, root := range l.roots {
		for _, suffix := range flow.FileSuffixes() {
			one, err := l.loadFlow(root, stem, stem+suffix)
			if err != nil || one != nil {
				return one, err
			}
		}
	}
	return nil, l.unknownFlow(id)
}

// loadFlow returns the flow of a file below root; nil if there is none. A link may not lead out of the folder.
func (l *Library) loadFlow(root, stem, rel string) (*LibraryFlow, error) {
	dir, err := calls.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Stat(filepath.FromSlash(rel))
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil // it does not exist for the caller
	}
	file := filepath.Join(root, filepath.FromSlash(rel))
	l.mu.Lock()
	known := l.loaded[file]
	l.mu.Unlock()
	if known != nil && known.isCurrent() {
		return known, nil
	}
	source, err := calls.ReadFileIn(dir, filepath.FromSlash(rel), maxFlowBytes)
	if err != nil || !flow.HasSteps(source) {
		return nil, err
	}
	loader, _, err := l.service.parts.Loader(Surroundings{})
	if err != nil {
		return nil, err
	}
	loader.QueuedElsewhere = l.onWorker
	f, problems := loader.Load(file) // to its end, whichever client asked first: all others get it, too
	one := &LibraryFlow{ID: idOfPath(stem), File: file, Flow: f, Problems: problems, Source: source}
	one.Hash, one.Language = one.hashFiles(), one.languageAfter(known)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loaded[file] = one
	return one, nil
}

// languageLine matches the line of a flow that names its language.
var languageLine = regexp.MustCompile(`(?m)^language:[ \t]*["']?([A-Za-z-]+)`)

// languageAfter returns the language of a flow that was loaded as known before; nil for not.
func (f *LibraryFlow) languageAfter(known *LibraryFlow) string {
	if f.Flow != nil {
		return f.Flow.Language
	}
	if named := languageLine.FindSubmatch(f.Source); named != nil {
		return string(named[1])
	}
	if known != nil {
		return known.Language
	}
	return ""
}

// maxFlowBytes bounds a flow file.
const maxFlowBytes = 8 << 20

// isCurrent reports whether no file of the flow has changed. A flow with problems is read
// again: a file that it misses may have come.
func (f *LibraryFlow) isCurrent() bool {
	if f.Flow == nil || len(f.Problems) > 0 || !bytes.Equal(f.Source, f.Flow.Source) {
		return false
	}
	now, err := calls.ReadFile(f.File, maxFlowBytes)
	if err != nil || !bytes.Equal(now, f.Source) {
		return false
	}
	for name, content := range f.Flow.Files {
		now, err := calls.ReadFile(name, int64(len(content)))
		if err != nil || !bytes.Equal(now, content) {
			return false
		}
	}
	return true
}

// hashFiles returns the hash of all files of the flow.
func (f *LibraryFlow) hashFiles() string {
	sum := sha256.New()
	sum.Write(f.Source)
	if f.Flow != nil {
		for _, name := range slices.Sorted(maps.Keys(f.Flow.Files)) {
			sum.Write([]byte{0})
			sum.Write([]byte(filepath.Base(name)))
			sum.Write([]byte{0})
			sum.Write(f.Flow.Files[name])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ServedFiles returns the text of each flow, and of the files that it names, by their absolute paths.
func (l *Library) ServedFiles() (map[string][]byte, error) {
	flows, err := l.Flows()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range flows {
		files[flow.Absolute(f.File)] = f.Source
		if f.Flow == nil {
			continue // it names none for sure
		}
		for name, content := range f.Flow.Files {
			files[flow.Absolute(name)] = content
		}
	}
	return files, nil
}

// unknownFlow returns the error of a flow that is not there.
func (l *Library) unknownFlow(id string) error {
	var ids []string
	for _, root := range l.roots {
		_ = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error { // only for the hint
			if err != nil {
				return nil //nolint:nilerr // what cannot be read is no hint
			}
			if near, ok := flowID(root, name); ok && !entry.IsDir() {
				ids = append(ids, near)
			}
			return nil
		})
	}
	err := calls.Errorf(calls.NotFound, "there is no flow %q", value.Truncate(id, 80))
	if hint := value.DidYouMean(id, ids); hint != "" {
		return err.WithHint("%s", hint)
	}
	return err
}
