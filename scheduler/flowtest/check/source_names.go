package check

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
)

// A source, a kind or a role that no text can have is reported when the test file is read: confined, not and max would
// pass for ever with it.

// sourceWords are the sources that are no names.
func sourceWords() []string { return []string{"http", "tool", "model", "memory", "user", "clock"} }

// scopeWords are the names that templates of flows know beside their steps, without question, which is inputs.question.
func scopeWords() []string {
	return []string{"inputs", "history", "summary", "facts", "vars", "run", "item", "index", "error", "secrets"}
}

// memoryWords are what memories without an id are called.
func memoryWords() []string { return []string{"session", "long_term"} }

// messageRoles lists the roles of messages, and those that [explain.Explain] gives texts that are no messages.
func messageRoles() []string {
	return []string{"system", "developer", "user", "assistant", "tool", "function", "prompt", "text", explain.RoleTools}
}

// partKinds lists the kinds of the parts that built-in calls make of prompts: their own, and the names in their texts.
func partKinds() []string {
	return []string{
		"answer", "append", "file", "heading", "history", "identity", "image", "memory", "message", "messages", "module", "preset",
		"recalled", "runtime", "separator", "session", "skill", "skill_entry", "slot", "text", "tool", "world_book",
		"before", "categories", "category", "channel", "chat_id", "choices", "conversation", "domains", "facts", "instructions",
		"known", "left", "limit", "max_words", "memories", "now", "nullable", "optional", "problem", "question", "rejected", "schema",
		"skills", "snapshots", "summary", "time", "values", "workspace",
	}
}

// pieceKinds lists the kinds of pieces: those of parts and of sources.
func pieceKinds() []string {
	kinds := partKinds()
	for _, kind := range []explain.SourceKind{
		explain.SourceFlow, explain.SourceInput, explain.SourceName, explain.SourceComputed, explain.SourceFile, explain.SourceStep,
		explain.SourcePart, explain.SourceModel, explain.SourceTool, explain.SourceMemory, explain.SourceUser, explain.SourceText,
		explain.SourceClock, explain.SourceParams,
	} {
		if !slices.Contains(kinds, string(kind)) {
			kinds = append(kinds, string(kind))
		}
	}
	return kinds
}

// checkRole reports a role that no message has.
func checkRole(a *argument, below, role string) bool {
	known := slices.Concat(messageRoles(), a.scope.sourceNames().roles)
	if role == "" || slices.Contains(known, role) {
		return true
	}
	a.report(below, wording.Say("there is no role %q", role), nearHint(role, known))
	return false
}

// checkKind reports a kind that no piece has. Plugins may have kinds of their own: then only one that is nearly another is
// reported.
func checkKind(a *argument, below, kind string) bool {
	known := pieceKinds()
	if kind == "" || slices.Contains(known, kind) {
		return true
	}
	if a.scope.sourceNames().hasOtherCalls && value.Nearest(kind, known) == "" {
		return true
	}
	a.report(below, wording.Say("there is no kind %q of pieces", kind), nearHint(kind, known))
	return false
}

// checkSource reports a source that no text can come from: an input that the flow does not declare, or what is neither a
// word for sources, nor the name of a step, a tool, a call or a file.
func checkSource(a *argument, below, source string) bool {
	if source == "" {
		return true
	}
	if !checkInput(a, below, source) || !checkVariable(a, below, source) {
		return false
	}
	names := a.scope.sourceNames()
	if names.has(source) || names.hasPart(a.subject.step, source) {
		return true
	}
	near := names.nearest(source)
	isInput := func(name string) bool { return matchesName(firstName(source), name) }
	if isInput(wordQuestion) || slices.ContainsFunc(a.scope.inputNames(), isInput) {
		near = "inputs." + source
	}
	if isOpen := names.isOpen || names.files.isCut; isOpen && near == "" {
		return true
	}
	hint := nearHint(source, names.listed)
	if near != "" {
		hint = wording.Say("did you mean %q?", near)
	}
	a.report(below, wording.Say("no text comes from %q: no step, tool or file has that name", source), hint)
	return false
}

// wordQuestion is what templates call the input question. Texts from there come from inputs.question.
const wordQuestion = "question"

// checkInput reports an input that the flow does not declare: nothing would ever come from it.
func checkInput(a *argument, below, source string) bool {
	if strings.HasPrefix(source, "inputs/") {
		a.report(below, wording.Say("%q is not a source", source), wording.Say("write %s", strings.ReplaceAll(source, "/", ".")))
		return false
	}
	input, ok := strings.CutPrefix(source, "inputs.")
	known := a.scope.inputNames()
	if !ok || known == nil {
		return true
	}
	name := firstName(input)
	isPattern := strings.Contains(name, "*")
	switch {
	case slices.Contains(known, name), isPattern && a.scope.hasInputLike(input):
		return true
	case isPattern:
		a.report(below, wording.Say("no input of the flow fits %q", name), nearHint(strings.ReplaceAll(name, "*", ""), known))
	default:
		a.report(below, wording.Say("the flow has no input %q", name), nearHint(name, known))
	}
	return false
}

// firstName returns what a path begins with: the name before its first member or item.
func firstName(path string) string {
	name, _, _ := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, "[")
	return name
}

// hasInputLike reports whether a pattern can be an input that a flow declares, or something in one that may hold more: there, a
// star also stands for the path to it.
func (s *Scope) hasInputLike(pattern string) bool {
	name := firstName(pattern)
	start, _, _ := strings.Cut(name, "*")
	for _, f := range s.Flows {
		properties, _ := f.Inputs.Doc().Get("properties")
		for input, declared := range properties.Map().All() {
			if matchesName(name, input) || strings.HasPrefix(input, start) && !isScalar(declared) {
				return true
			}
		}
	}
	return false
}

// isScalar reports whether a schema only lets values through that have no members and no items.
func isScalar(declared value.Value) bool {
	kind, _ := declared.Get("type")
	name, isOne := kind.Str()
	return isOne && name != "object" && name != "array"
}

// checkVariable reports a variable that no plugin declares, and what the schema of one does not have. Where plugins are not known,
// only one that is nearly what the flows mention is reported: modules of prompts may have others.
func checkVariable(a *argument, below, source string) bool {
	variable, ok := strings.CutPrefix(source, "vars.")
	if !ok {
		return true
	}
	name, known := firstName(variable), a.scope.sourceNames().variables
	near := value.DidYouMean(strings.ReplaceAll(name, "*", ""), known)
	if slices.ContainsFunc(known, func(variable string) bool { return matchesName(name, variable) }) {
		return checkMember(a, below, source, a.scope.variableSchema(name), variable[len(name):])
	}
	if near == "" && a.scope.Registry == nil {
		return true
	}
	hint := wording.Of(near)
	if near == "" {
		hint = nearHint(name, known)
	}
	a.report(below, wording.Say("the flow has no variable %q", name), hint)
	return false
}

// variableSchema returns what a plugin declares of a variable; null where it declares nothing.
func (s *Scope) variableSchema(name string) value.Value {
	resolver, _ := s.Registry.Resolver(name)
	described, ok := resolver.(interface{ Schema(name string) value.Value })
	if !ok {
		return value.Value{}
	}
	return described.Schema(name)
}

// checkMember reports what a source has below a name, and the schema of that has not: .city.nmae. What a schema leaves open is not
// reported.
func checkMember(a *argument, below, source string, declared value.Value, path string) bool {
	for path != "" {
		name, isMember := strings.CutPrefix(path, ".")
		name = firstName(name)
		properties, hasProperties := declared.Get("properties")
		if !isMember || !hasProperties || strings.Contains(name, "*") {
			return true
		}
		member, ok := properties.Get(name)
		if !ok {
			return isOpenSchema(declared) || reportMember(a, below, source, name, properties.Map().Keys())
		}
		declared, path = member, path[1+len(name):]
	}
	return true
}

// reportMember reports a member that a schema does not have, and returns false.
func reportMember(a *argument, below, source, name string, known []string) bool {
	a.report(below, wording.Say("no text comes from %q: the variable has no %q", source, name), nearHint(name, known))
	return false
}

// isOpenSchema reports whether a schema lets an object have members that it does not name.
func isOpenSchema(declared value.Value) bool {
	more, _ := declared.Get("additionalProperties")
	isAllowed, isBool := more.Bool()
	return !isBool || isAllowed
}

// sourceNames are what the sources of a scope may be called. They are made once, and only read then.
type sourceNames struct {
	// listed are the names that a message lists: words, steps, tools. others are known too.
	listed, others []string
	// roles are those that messages of the flows have, variables those that their templates mention.
	roles, variables []string
	files            *fileNames
	// isOpen: there may be other names, of tools or steps that are only known when they run. hasOtherCalls: there may be
	// calls that are not built in.
	isOpen, hasOtherCalls bool
	flows                 []*flow.Flow
	// paths are those that steps of the flows may have.
	paths []explain.StepPath
	// written are the parameters of the steps, with null for what is computed.
	written []value.Value

	piecesOnce sync.Once
	pieces     pieceNames // set by piecesOnce
}

// sourceNames returns the names of the flows of the scope.
func (s *Scope) sourceNames() *sourceNames {
	s.once.Do(func() {
		n := &sourceNames{listed: sourceWords(), others: slices.Concat(memoryWords(), s.freeWords()), files: &fileNames{}, flows: s.Flows}
		n.isOpen = len(s.Flows) == 0
		n.hasOtherCalls = n.isOpen
		if s.Dir != "" {
			n.files.addFolder(s.Dir, "")
		}
		for _, f := range s.Flows {
			n.addSteps(f, "")
			n.paths = append(n.paths, explain.StepPaths(f)...)
			n.addFlow(f)
		}
		slices.Sort(n.paths)
		n.paths = slices.Compact(n.paths)
		for _, name := range s.Registry.VariableNames() {
			if !slices.Contains(n.variables, name) {
				n.variables = append(n.variables, name)
			}
		}
		s.names = n
	})
	return s.names
}

// freeWords lists the names of scopes and the kinds of parts that no input is called: where one is, a source of that name is one only in
// a prompt that has such a part.
func (s *Scope) freeWords() []string {
	inputs := append(s.inputNames(), wordQuestion)
	if len(s.Flows) == 0 {
		inputs = nil
	}
	words := slices.Concat(scopeWords(), partKinds())
	return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(inputs, word) })
}

// hasPart reports whether the prompt of a step has a part that a source names, in each flow that has the step: its call has a text with
// a place for it.
func (n *sourceNames) hasPart(step, source string) bool {
	step = roundPath.ReplaceAllString(step, "")
	isFound := false
	for _, f := range n.flows {
		s, ok := f.FindStep(step)
		if ok && !slices.ContainsFunc(placesOf(s), func(place string) bool { return matchesName(firstName(source), place) }) {
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

// has reports whether a source is known. A pattern is known where it fits one that is.
func (n *sourceNames) has(source string) bool {
	first := source
	if i := strings.IndexAny(source, "./[:"); i > 0 {
		first = source[:i]
	}
	fits := func(known string) bool { return matchesName(source, known) || matchesName(first, known) }
	isInside := strings.Contains(source, "/")
	isStepInside := isInside && !strings.Contains(source, "*")
	if isStepInside {
		fits = func(known string) bool { return source == known }
	} else if isInside { // the outer step alone says nothing of a pattern of inner ones
		bare := itemNumbers.ReplaceAllString(source, "")
		fits = func(known string) bool { return matchesName(bare, known) || matchesName(firstName(bare), known) }
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

// hasStep reports whether a flow can have a step that another runs, by its path or a pattern of that.
func (n *sourceNames) hasStep(source string) bool {
	id, _, _ := strings.Cut(source, ".")
	for _, p := range n.paths {
		if p.Fits(id) || p.Fits(source) {
			return true
		}
	}
	return false
}

// nearest returns the source that was probably meant by one that is not known; "" where none is near.
func (n *sourceNames) nearest(source string) string {
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

// addSteps adds the names of the steps of a flow, which have a prefix, and of the flows that they run. Those of flows that tools run
// have the numbers of uses in their names, which only the run knows.
func (n *sourceNames) addSteps(f *flow.Flow, prefix string) {
	for _, s := range f.Steps {
		n.listed = append(n.listed, prefix+s.ID)
		if s.Sub != nil {
			n.addSteps(s.Sub, prefix+s.ID+"/")
		}
	}
}

// addFlow adds the names that are in a flow, and in those that it runs, beside the names of the steps.
func (n *sourceNames) addFlow(f *flow.Flow) {
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
func (n *sourceNames) addTexts(s *flow.Step) {
	for i := range s.Def.Texts {
		texts := &s.Def.Texts[i]
		for _, name := range texts.Names() {
			n.others = append(n.others, texts.Folder+" "+name, name)
		}
	}
}

// addTools adds the names of the tools of an agent, or of a chat, and of what they run.
func (n *sourceNames) addTools(s *flow.Step, with value.Value) {
	tools, isWhole := explain.ToolsOf(with)
	n.isOpen = n.isOpen || !isWhole
	for _, t := range tools {
		n.listed = append(n.listed, t.Name)
		n.others = append(n.others, t.Call)
		n.hasOtherCalls = n.hasOtherCalls || strings.Contains(t.Call, ".")
	}
	n.addInner(s, explain.CountFlows(tools))
	if _, hasFiles := with.Get("workspace"); hasFiles && s.Call == "agent" {
		n.listed = append(n.listed, explain.WorkspaceTools()...)
	}
}

// folderKeys are the parameters that name files, or folders of them, which pieces come from.
var folderKeys = []string{"workspace", "builtin_skills", "images", "files"}

// addInner adds the names of the flows that tools of a step run, where they were read with the flow.
func (n *sourceNames) addInner(s *flow.Step, flows int) {
	if isKnown := len(s.Inner) >= flows; !isKnown {
		n.isOpen, n.hasOtherCalls = true, true
	}
	for _, f := range s.Inner {
		n.addFlow(f)
	}
}

// addParams adds what the parameters of a step, which begin at a folder, tell of roles and files. What is computed there
// may be any file.
func (n *sourceNames) addParams(with value.Value, dir string) {
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

// eachMember visits what is in a value, with the keys; the items of a list have that of the list.
func eachMember(v value.Value, visit func(key string, v value.Value)) {
	var walk func(key string, v value.Value)
	walk = func(key string, v value.Value) {
		visit(key, v)
		for name, member := range v.Map().All() {
			walk(name, member)
		}
		for _, item := range v.List() {
			walk(key, item)
		}
	}
	walk("", v)
}

// maxFiles bounds how many files are looked at for their names.
const maxFiles = 10_000
