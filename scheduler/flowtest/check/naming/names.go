// Package naming knows the possible names of sources, pieces and roles of prompts, as far as the flows of a test
// file define them. It reports a source, a kind or a role that no text can have when the file is read: confined,
// not and max would always pass with it. For example, the source inputs.qestion is reported if the flow has an
// input question.
package naming

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
)

// Names are the names in the flows of a test file that texts of prompts can come from, or be called by. [New] makes them once for all items
// of the file; they are safe for concurrent use.
type Names struct {
	flows    []*flow.Flow
	registry *calls.Registry
	// listed are the names that a message lists: words, steps, tools. others are known too.
	listed, others []string
	// roles are those that messages of the flows have, variables those that their templates mention.
	roles, variables []string
	files            *fileNames
	// isOpen: there may be other names, of tools or steps that are only known when they run. hasOtherCalls: there may be
	// calls that are not built in.
	isOpen, hasOtherCalls bool
	// paths are those that steps of the flows may have.
	paths []explain.StepPath
	// written are the parameters of the steps, with null for computed ones.
	written []value.Value

	piecesOnce sync.Once
	pieces     pieceNames // set by piecesOnce
}

// New finds the names in flows, and in the folder of their test file, "" for none. The registry, which may be nil, has the variables that
// plugins declare.
func New(flows []*flow.Flow, dir string, registry *calls.Registry) *Names {
	isOpen := len(flows) == 0
	n := &Names{
		flows: flows, registry: registry, listed: sourceWords(), others: slices.Concat(memoryWords(), freeWords(flows)), files: &fileNames{},
		isOpen: isOpen, hasOtherCalls: isOpen,
	}
	if dir != "" {
		n.files.addFolder(dir, "")
	}
	for _, f := range flows {
		n.addSteps(f, "")
		n.paths = append(n.paths, explain.StepPaths(f)...)
		n.addFlow(f)
	}
	slices.Sort(n.paths)
	n.paths = slices.Compact(n.paths)
	for _, name := range registry.VariableNames() {
		if !slices.Contains(n.variables, name) {
			n.variables = append(n.variables, name)
		}
	}
	return n
}

// Inputs lists the inputs that flows declare; nil if one takes any.
func Inputs(flows []*flow.Flow) (names []string) {
	for _, f := range flows {
		properties, ok := f.Inputs.Doc().Get("properties")
		if !ok {
			return nil
		}
		for _, name := range properties.Map().Keys() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// freeWords lists the names of scopes and the kinds of parts that are not names of inputs: if an input has such a
// name, it is a source only in a prompt that has such a part.
func freeWords(flows []*flow.Flow) []string {
	words := slices.Concat(scopeWords(), partKinds())
	if len(flows) == 0 {
		return words
	}
	inputs := append(Inputs(flows), wordQuestion)
	return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(inputs, word) })
}

// hasPart reports whether the prompt of a step has a part that a source names, in each flow that has the step: its call has a text with
// a place for it.
func (n *Names) hasPart(step, source string) bool {
	step = roundPath.ReplaceAllString(step, "")
	isFound := false
	for _, f := range n.flows {
		s, ok := f.FindStep(step)
		if ok && !slices.ContainsFunc(placesOf(s), func(place string) bool { return Matches(firstName(source), place) }) {
			return false
		}
		isFound = isFound || ok
	}
	return isFound
}

// roundPath is the round of an agent in the path of a step.
var roundPath = regexp.MustCompile(`/round-\d+$`)

// placesOf lists the names that the texts of a call have places for: the parts of the prompt that are put there are called so.
func placesOf(s *flow.Step) (places []string) {
	for i := range s.Def.Texts {
		for _, name := range s.Def.Texts[i].Names() {
			text, _, err := s.Def.Texts[i].Read(nil, "en", name)
			if err != nil {
				continue
			}
			for _, match := range placeInText.FindAllSubmatch(text, -1) {
				places = append(places, string(match[1])+string(match[2]))
			}
		}
	}
	return places
}

var placeInText = regexp.MustCompile(`\{\{-?\s*(\w+)|\{%-?\s*for \w+ in (\w+)`)

// has reports whether a source is known. A pattern is known if it matches a known one.
func (n *Names) has(source string) bool {
	first := source
	if i := strings.IndexAny(source, "./[:"); i > 0 {
		first = source[:i]
	}
	fits := func(known string) bool { return Matches(source, known) || Matches(first, known) }
	isInside := strings.Contains(source, "/")
	isStepInside := isInside && !strings.Contains(source, "*")
	if isStepInside {
		fits = func(known string) bool { return source == known }
	} else if isInside { // the outer step alone says nothing of a pattern of inner ones
		bare := itemNumbers.ReplaceAllString(source, "")
		fits = func(known string) bool { return Matches(bare, known) || Matches(firstName(bare), known) }
	}
	if slices.ContainsFunc(n.listed, fits) || slices.ContainsFunc(n.others, fits) || n.files.has(source) {
		return true
	}
	isText := strings.HasSuffix(source, ".txt") && slices.Contains(n.others, path.Base(source)) // one of the user, in the folder of a language
	if isText {
		return true
	}
	isID := strings.HasPrefix(source, "memory_") || strings.HasPrefix(source, "snapshot_") // of a memory in the store
	return isID || isInside && n.hasStep(source)
}

// itemNumbers are the numbers in paths of steps that run for each item.
var itemNumbers = regexp.MustCompile(`\[[^/\]]*\]`)

// hasStep reports whether a flow can have a step that another runs, by its path or a pattern of the path.
func (n *Names) hasStep(source string) bool {
	id, _, _ := strings.Cut(source, ".")
	for _, p := range n.paths {
		if p.Fits(id) || p.Fits(source) {
			return true
		}
	}
	return false
}

// nearest returns the source that was probably meant by an unknown one; "" if none is near.
func (n *Names) nearest(source string) string {
	known := slices.Concat(n.listed, scopeWords())
	if strings.ContainsAny(source, "./") {
		known = slices.Concat(known, n.files.all())
	}
	if near := value.Nearest(source, known); near != "" {
		return near
	}
	i := strings.IndexAny(source, "./[:")
	if i <= 0 {
		return ""
	}
	if near := value.Nearest(source[:i], known); near != "" {
		return near + source[i:]
	}
	return ""
}

// addSteps adds the names of the steps of a flow, with a prefix, and of the flows that they run. The names of
// steps in flows that tools run contain numbers of uses, which only the run knows.
func (n *Names) addSteps(f *flow.Flow, prefix string) {
	for _, s := range f.Steps {
		n.listed = append(n.listed, prefix+s.ID)
		if s.Sub != nil {
			n.addSteps(s.Sub, prefix+s.ID+"/")
		}
	}
}

// addFlow adds the names that are in a flow, and in those that it runs, beside the names of the steps.
func (n *Names) addFlow(f *flow.Flow) {
	dir := filepath.Dir(f.File)
	n.files.addFolder(dir, "")
	for name := range f.Files {
		n.files.add(name)
		if below, err := filepath.Rel(dir, name); err == nil { // as the flow writes it
			n.files.add(below)
		}
	}
	for _, s := range f.Steps {
		n.others = append(n.others, s.Call)
		n.variables = append(n.variables, s.Resolve...)
		n.hasOtherCalls = n.hasOtherCalls || strings.Contains(s.Call, ".")
		n.addTexts(s)
		with := s.With.Written()
		n.addParams(with, dir)
		n.written = append(n.written, with)
		n.addTools(s, with)
		if s.Sub != nil {
			n.addFlow(s.Sub)
		} else if s.Call == flow.CallFlow { // which one is only known when it runs
			n.isOpen, n.hasOtherCalls = true, true
		}
	}
}

// addTexts adds the names of the texts of a call.
func (n *Names) addTexts(s *flow.Step) {
	for i := range s.Def.Texts {
		texts := &s.Def.Texts[i]
		for _, name := range texts.Names() {
			n.others = append(n.others, texts.Folder+" "+name, name)
		}
	}
}

// addTools adds the names of the tools of an agent, or of a chat, and of the calls and flows that they run.
func (n *Names) addTools(s *flow.Step, with value.Value) {
	if s.Def.Tools == nil {
		return
	}
	tools, isWhole := s.Def.Tools(with)
	n.isOpen = n.isOpen || !isWhole
	for _, t := range tools {
		n.listed = append(n.listed, t.Name)
		n.others = append(n.others, t.Call)
		n.hasOtherCalls = n.hasOtherCalls || strings.Contains(t.Call, ".")
	}
	n.addInner(s, explain.CountFlows(tools))
}

// folderKeys are the parameters that name files, or folders of them, which pieces come from.
var folderKeys = []string{"workspace", "builtin_skills", "images", "files"}

// addInner adds the names of the flows that tools of a step run, if they were read with the flow.
func (n *Names) addInner(s *flow.Step, flows int) {
	if isKnown := len(s.Inner) >= flows; !isKnown {
		n.isOpen, n.hasOtherCalls = true, true
	}
	for _, f := range s.Inner {
		n.addFlow(f)
	}
}

// addParams adds the roles and files that the parameters of a step mention, with paths from a folder. A computed
// parameter may be any file.
func (n *Names) addParams(with value.Value, dir string) {
	eachMember(with, func(key string, v value.Value) {
		text, isText := v.Str()
		switch {
		case v.IsNull() && slices.Contains(folderKeys, key):
			n.isOpen = true
		case isText && key == "role":
			n.roles = append(n.roles, text)
		case isText:
			n.files.addPath(dir, text)
		}
	})
}
