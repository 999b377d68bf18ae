package flow

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// maxFlowDepth limits the depth of flows in flows.
const maxFlowDepth = 16

// Load reads a flow file and its sub-flows. The flow is nil when a problem is an
// error; warnings leave it usable.
func (l *Loader) Load(path string) (*Flow, Problems) {
	flow, problems, _ := l.LoadContext(context.Background(), path) // it ends with the context alone
	return flow, problems
}

// LoadContext is Load that ends with ctx, as ParseContext does.
func (l *Loader) LoadContext(ctx context.Context, path string) (*Flow, Problems, error) {
	src, err := l.read("", path)
	if err != nil {
		p := unreadableProblem(Position{path, 1, 1}, path, err)
		p.setHint(similarFileHint(path)) // the path is not one in a flow
		if path == "-" {
			p = newProblem(p.Pos, "a flow is not read from standard input")
			p.hint("paths in a flow start at its file: write it to one")
		}
		p.in(l.messageLanguage())
		return nil, Problems{p}, nil
	}
	return l.ParseContext(ctx, path, src)
}

// Parse is Load of a text that was read before. file names it in messages, and
// paths in it are relative to file's directory.
func (l *Loader) Parse(file string, src []byte) (*Flow, Problems) {
	flow, problems, _ := l.ParseContext(context.Background(), file, src) // it ends with the context alone
	return flow, problems
}

// ParseContext is Parse of a text from outside, for example one that somebody types: the work ends with ctx. The error is the cause
// of its end then, and there are no problems, for not all were found.
func (l *Loader) ParseContext(ctx context.Context, file string, src []byte) (*Flow, Problems, error) {
	ld := &loading{
		Loader: l, ctx: ctx, flows: map[subFlow]*Flow{}, files: map[string][]byte{},
		leniently: map[*schema.Schema]*schema.Schema{}, texts: map[string]bool{},
		inner: map[string]*Flow{filepath.Clean(file): nil},
	}
	flow := ld.loadFlow(file, src, around{language: l.Languages.defaultName(), messages: l.messageLanguage(), isElsewhere: l.onlySignature})
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	problems := slices.Concat(ld.reports...)
	if problems.HasErrors() {
		return nil, problems, nil
	}
	return flow, problems, nil
}

// ForSignatures returns a Loader for flows that run on other machines: it does not report the faults of their
// steps.
func (l *Loader) ForSignatures() *Loader {
	signatures := *l
	signatures.onlySignature = true
	return &signatures
}

// ForSubFlow returns a Loader for a flow whose path is computed in a run, for a step that runs it; queue is the
// step's queue, "" for none. With QueuedElsewhere it reads the same parts of a flow with a queue as if its path
// had been known before.
func (l *Loader) ForSubFlow(queue string) *Loader {
	inside := *l
	inside.isSubFlow = true
	inside.onlySignature = l.QueuedElsewhere && queue != ""
	return &inside
}

// LoadText loads a flow from its text and the content of its other files, by their
// paths, as a journal keeps them: no file is read, and names of providers and secrets that were since removed from
// the settings are not a problem.
func (l *Loader) LoadText(file string, source []byte, files map[string][]byte) (*Flow, Problems) {
	kept := *l
	kept.recorded = true
	kept.Providers, kept.Secrets = nil, nil
	if kept.Root != "" {
		kept.Root = Absolute(kept.Root)
	}
	kept.ReadFile = func(path string) ([]byte, error) {
		if content, ok := files[path]; ok {
			return content, nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return kept.Parse(file, source)
}

// similarFileHint returns the hint that names a file for a path that was mistyped, or is a name.
func similarFileHint(path string) wording.Text {
	if near := SimilarFile(path); near != "" {
		return say("did you mean %s?", near)
	}
	return wording.Text{}
}

// SimilarFile returns the flow that path may have meant, for example flows/hello.yaml for hello; "" if there is
// none. It looks beside path, and in a folder flows there.
func SimilarFile(path string) string {
	dir, name := filepath.Split(path)
	folders := []string{dir, filepath.Join(dir, "flows") + string(filepath.Separator)}
	written := []string{name}
	if filepath.Ext(name) == "" {
		written = []string{name + ".yaml", name + ".yml"}
	}
	for _, folder := range folders {
		for _, file := range written {
			if info, err := os.Stat(folder + file); err == nil && info.Mode().IsRegular() {
				return folder + file
			}
		}
	}
	for _, folder := range folders {
		files := map[string]string{} // by how one would write them
		for _, file := range filesIn(folder) {
			if filepath.Ext(name) == "" {
				files[strings.TrimSuffix(strings.TrimSuffix(file, ".yaml"), ".yml")] = file
			} else {
				files[file] = file
			}
		}
		if near := value.Nearest(name, slices.Sorted(maps.Keys(files))); near != "" {
			return folder + files[near]
		}
	}
	return ""
}

// filesIn lists the names of the files of a folder; none if it cannot be read.
func filesIn(folder string) (names []string) {
	entries, _ := os.ReadDir(cmp.Or(folder, "."))
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// around has the settings that a flow inherits from the one that runs it, unless it has its own.
type around struct {
	language, messages string
	isElsewhere        bool
}

// loadFlow parses, compiles and checks one file.
func (ld *loading) loadFlow(file string, src []byte, outer around) *Flow {
	slot := len(ld.reports)
	ld.reports = append(ld.reports, nil)
	text := newFlowText(file, src)
	u := &unit{
		decoder: decoder{text, &report{}},
		loading: ld,
		dir:     filepath.Dir(file),
		flow:    &Flow{File: file, Source: src, Files: map[string][]byte{}, registry: ld.Registry},
		byID:    map[string]int{},

		language: outer.language,
		messages: outer.messages,

		isElsewhere: outer.isElsewhere,
	}
	ld.stack, ld.needed = append(ld.stack, filepath.Clean(file)), append(ld.needed, u.flow.Files)
	u.process()
	ld.stack, ld.needed = ld.stack[:len(ld.stack)-1], ld.needed[:len(ld.needed)-1]
	if u.isElsewhere {
		ld.reports = ld.reports[:slot+1] // its sub-flows run there too
	}
	elsewhere := func(p Problem) string { // the flow's own come first, then file by file
		if p.Pos.File == file {
			return ""
		}
		return p.Pos.File
	}
	slices.SortStableFunc(u.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(elsewhere(a), elsewhere(b)), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	for i := range u.problems {
		u.problems[i].in(u.messages)
	}
	ld.reports[slot] = slices.Compact(u.problems)
	if u.problems.HasErrors() {
		return nil
	}
	return u.flow
}

func (u *unit) process() {
	root := u.parseYAML()
	if root == nil {
		return
	}
	u.applyOverrides(root)
	u.decodeObject(keyPlace{root, root}, theFlow, reflect.ValueOf(&u.keys).Elem())
	isInside := u.loading.isSubFlow || len(u.loading.stack) > 1
	if isInside && u.loading.QueuedElsewhere && u.keys.Queue.isSet() {
		u.isElsewhere = true
	}
	if u.isElsewhere {
		u.readSignature()
		return
	}
	u.compileFlow()
	if u.flow.Language != "" {
		u.language, u.messages = u.flow.Language, u.flow.Language
	}
	for _, phase := range []func(){
		u.loadSubFlows, u.lintOrder, u.shareNames, u.lintScope, u.lintCalls, u.lintNames, u.lintTriggers, u.lintCaches, u.completeFlow,
	} {
		if u.loading.isOver() { // a phase relies on those before it
			return
		}
		phase()
	}
}

// readSignature reads the parts of a flow that a step that runs it on another machine uses: the inputs, the
// outputs, and the files that are sent there with it. The problems of the steps are found there.
func (u *unit) readSignature() {
	decoded := u.problems
	u.compileFlow()
	u.loadSubFlows()
	u.lintOrder()
	for _, s := range u.steps {
		s.Output = u.outputOf(s)
	}
	u.completeFlow()
	u.problems = decoded
}

// isBlank reports whether a parameter is a text without a character that shows.
func isBlank(p *Param) bool {
	v, isStatic := p.Static()
	text, isText := v.Str()
	return isStatic && isText && strings.TrimSpace(text) == ""
}

// loadSubFlows loads the flows that steps run, if their paths are known before the run.
func (u *unit) loadSubFlows() {
	for s := range u.eachStep() {
		if !s.known || s.Call != CallFlow || s.With == nil {
			continue
		}
		at, rest := Descend(s.With, "/path")
		v, static := at.Static()
		if !static {
			continue
		}
		v, _ = v.At(rest)
		if path, _ := v.Str(); path != "" {
			s.Sub = u.loading.loadSubFlow(u, s, path)
		}
	}
}

// loadSubFlow returns the flow at path, relative to the flow whose step names it, or nil if it
// has errors. Each file is read once.
func (ld *loading) loadSubFlow(u *unit, s *stepUnit, path string) *Flow {
	at, full := u.positionOf(nodeAt(s.with, "/path")), u.pathBeside(path)
	if i := slices.Index(ld.stack, full); i >= 0 {
		u.add(at, "flows run each other in a circle: %s", strings.Join(append(slices.Clone(ld.stack[i:]), full), " -> ")).
			hint("a flow cannot run itself; use for_each, or the call agent, to repeat work")
		return nil
	}
	isQueued := ld.QueuedElsewhere && s.Queue != ""
	sub := subFlow{full, u.isElsewhere || isQueued}
	if flow, seen := ld.flows[sub]; seen {
		ld.keepFiles(full, flow)
		return flow
	}
	if len(ld.stack) >= maxFlowDepth {
		u.add(at, "flows stand in flows more than %d deep", maxFlowDepth)
		return nil
	}
	src, err := ld.readBeside("", full)
	if err != nil {
		u.problems = append(u.problems, unreadableProblem(at, path, err))
		return nil
	}
	flow := ld.loadFlow(full, src, around{u.language, u.messages, sub.isElsewhere})
	ld.flows[sub] = flow
	return flow
}

// keepFiles notes that the flows which are being read need a sub-flow that was read before.
func (ld *loading) keepFiles(path string, f *Flow) {
	if f == nil {
		return
	}
	for _, files := range ld.needed {
		files[path] = f.Source
		maps.Copy(files, f.Files)
	}
}

// LoadInside is Load of a flow whose path is computed in a run, perhaps from a model: it must be in root or below,
// links followed, and an error quotes nothing of a file that is not a flow. Errors name files from root, for
// example sub/reply.yaml, on every machine.
func (l *Loader) LoadInside(root, path string) (*Flow, error) {
	base, full := Absolute(root), Absolute(path)
	rel, err := filepath.Rel(base, full)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, calls.Errorf(calls.Invalid, "%s", say("the flow %s is not in the folder of the flow that runs it", filepath.ToSlash(cmp.Or(rel, filepath.Base(path))))).
			WithHint("%s", say("flows whose path is only known in a run are beside the flow that runs them, or below"))
	}
	var src []byte
	if l.ReadFile != nil {
		src, err = l.ReadFile(path)
	} else if info, statErr := os.Stat(full); statErr == nil && !info.Mode().IsRegular() { // a pipe would wait for a writer
		return nil, calls.Errorf(calls.Invalid, "%s", say("%s is not a regular file", filepath.ToSlash(rel)))
	} else {
		src, err = l.read(base, full)
	}
	if err != nil {
		return nil, calls.Errorf(calls.NotFound, "%s: %w", say("cannot read the flow %s", filepath.ToSlash(rel)), calls.WithoutPath(err))
	}
	if pos, ok := looksLikeFlow(filepath.ToSlash(rel), src); !ok {
		return nil, calls.Errorf(calls.Invalid, "%s", say("%s: this file is not a flow", pos))
	}
	flow, problems := l.Parse(path, src)
	if err := problems.relativeTo(base).Err(); err != nil {
		return nil, err
	}
	return flow, nil
}

// relativeTo returns problems whose places and messages name files from a folder: a run records them, and is read on other machines.
func (p Problems) relativeTo(folder string) Problems {
	all := slices.Clone(p)
	for i := range all {
		one := &all[i]
		if rel, err := filepath.Rel(folder, Absolute(one.Pos.File)); err == nil {
			one.Pos.File = filepath.ToSlash(rel)
		}
		for _, text := range []*string{&one.Message, &one.message.En, &one.message.Zh} {
			*text = strings.ReplaceAll(*text, folder+string(filepath.Separator), "")
		}
	}
	return all
}

// stepsLine and stepsMember are steps as a key of a document in block style, and anywhere.
var (
	stepsLine   = regexp.MustCompile(`(?m)^["']?steps["']?\s*:`)
	stepsMember = regexp.MustCompile(`\bsteps["']?\s*:`)
)

// HasSteps reports whether the text of a file is meant as a flow: beside flows there are their data, tests and
// cassettes. A text that cannot be parsed may still be one, to be reported.
func HasSteps(src []byte) bool {
	src = bytes.TrimSpace(value.WithoutMark(src))
	if !bytes.HasPrefix(src, []byte("{")) {
		return stepsLine.Match(src)
	}
	if !stepsMember.Match(src) { // it may be a large file of data
		return false
	}
	root, err := yaml.Parse(src) // JSON, as programs write it
	if err != nil || root == nil {
		return true
	}
	steps, _, found := yaml.Walk(root, "/steps")
	return found && yaml.Resolve(steps).Kind != yaml.Scalar // data may count steps, as {"steps": 30} of a picture does
}

// FileSuffixes returns the suffixes of flow files; of files that differ only there, the first counts.
func FileSuffixes() []string { return []string{".yaml", ".yml", ".json"} }

// looksLikeFlow reports whether a file is a map with steps in it, each of which has a call; pos is the place at
// which it is not.
func looksLikeFlow(file string, src []byte) (pos Position, ok bool) {
	text := newFlowText(file, src)
	pos = Position{file, 1, 1}
	if len(src) > yaml.MaxBytes {
		return pos, false
	}
	root, err := yaml.Parse(text.Bytes)
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
