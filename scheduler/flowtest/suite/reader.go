package suite

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/files"
)

// reader reads one test file. Places in it are JSON pointers until they are reported.
type reader struct {
	loader *Loader
	// shown is the path that problems name, file the one that results name.
	shown, file, dir string
	root             *yaml.Node
	places           *flow.Places
	keys             fileKeys
	// literals are the values of nodes with !raw or !file; templates those of texts that were compiled.
	literals  map[*yaml.Node]value.Value
	templates map[*yaml.Node]*template
	flows     []*loadedFlow
	variants  map[string]*loadedFlow // flows with parameters of the matrix, by both
	data      dataset
	// defaults and cases are the checks, in the order of the file.
	defaults []*check.Check
	cases    [][]*check.Check
	problems flow.Problems
	mocked   map[string]*Mock       // by their pointers
	seen     map[flow.Position]bool // where rows and variants have found something wrong
	// dataFiles are the files of rows, memories and events that were read.
	dataFiles map[string]bool
	// otherFiles are those of !file, and of the runs that state is taken from.
	otherFiles map[string]bool
	wrong      map[string]bool // pointers of cases whose keys do not fit
}

func itoa(i int) string { return strconv.Itoa(i) }

// report adds a problem at a place of the file.
func (r *reader) report(pointer string, message, hint wording.Text) {
	r.problems = append(r.problems, flow.NewProblem(r.at(pointer), message, hint))
}

// reportOnce is report for what each row or variant finds again.
func (r *reader) reportOnce(pos flow.Position, message, hint wording.Text) {
	if r.seen[pos] {
		return
	}
	r.seen[pos] = true
	r.problems = append(r.problems, flow.NewProblem(pos, message, hint))
}

// at returns where the value at a pointer begins, or the nearest one around it.
func (r *reader) at(pointer string) flow.Position {
	node, _, _ := yaml.Walk(r.root, pointer)
	return r.position(node, 0)
}

// keyAt returns where the key of the value at a pointer begins.
func (r *reader) keyAt(pointer string) flow.Position {
	node, key, found := yaml.Walk(r.root, pointer)
	if found && key != nil {
		node = key
	}
	return r.position(node, 0)
}

// position returns the place of a byte of the text of a node; of the node with 0.
func (r *reader) position(n *yaml.Node, offset int) flow.Position {
	if n == nil || n.Line < 1 {
		return flow.Position{File: r.shown, Line: 1, Col: 1}
	}
	if offset == 0 || n.Kind != yaml.Scalar {
		return r.places.Of(n)
	}
	return r.places.Within(n, offset)
}

// parse parses the text and returns its value, in which checks are left out: package check reads them.
func (r *reader) parse(src []byte) (doc value.Value, ok bool) {
	r.places = flow.NewPlaces(r.shown, src)
	root, err := yaml.Parse([]byte(strings.TrimPrefix(string(src), "\ufeff")))
	if err != nil {
		r.reportYAML(err)
		return doc, false
	}
	if root == nil {
		r.report("", wording.Say("the test file is empty"), wording.Say("write cases: [{name: ..., inputs: ..., expect: [...]}]"))
		return doc, false
	}
	r.root = root
	r.readTags(root)
	doc, err = yaml.Value(r.withoutTags(root))
	if err != nil {
		r.reportYAML(err)
		return doc, false
	}
	doc = r.withLiterals(root, doc)
	return doc, len(r.problems) == 0
}

// reportYAML reports an error of the package yaml at its own place.
func (r *reader) reportYAML(err error) {
	pos := r.position(r.root, 0)
	message, hint := wording.OfError(err), wording.Text{}
	if wrong, ok := err.(*yaml.Error); ok { //nolint:errorlint // the package returns it as it is
		pos.Line, pos.Col = max(wrong.Line, 1), max(wrong.Col, 1)
		message, hint = wrong.Text()
	}
	r.problems = append(r.problems, flow.NewProblem(pos, message, hint))
}

// checkKeys checks the value against the schema of the keys. It returns the value without what does not fit, and
// whether the rest does.
func (r *reader) checkKeys(doc value.Value) (pruned value.Value, fits bool) {
	for round := 0; ; round++ {
		problems := fileSchema().Check(doc)
		if problems == nil || round == 2 || doc.Kind() != value.Object {
			r.reportKeys(problems, round == 0)
			return doc, problems == nil
		}
		r.reportKeys(problems, round == 0)
		for _, p := range problems {
			doc = prune(doc, strings.Split(p.Pointer, "/")[1:])
		}
	}
}

// reportKeys reports what does not fit the schema of the keys, and keeps in mind which cases are wrong.
func (r *reader) reportKeys(problems schema.Problems, isFirst bool) {
	for _, p := range problems {
		if names := strings.SplitN(p.Pointer, "/", 4); len(names) > 2 {
			r.wrong["/"+names[1]+"/"+names[2]] = true
		}
		pos := r.at(p.Pointer)
		if p.Keyword == "additionalProperties" {
			pos = r.keyAt(p.Pointer)
		}
		message, hint := p.Text()
		if isFirst {
			r.problems = append(r.problems, flow.NewProblem(pos, message, hint))
		}
	}
}

// prune returns a value without the member at a path. A member that is missing, and an entry of a list, which keeps
// its number, become the smallest that fits a case.
func prune(v value.Value, path []string) value.Value {
	if len(path) == 0 {
		return value.OfMap(value.Pairs("name", "?"))
	}
	name := value.Unescape(path[0])
	switch v.Kind() {
	case value.List:
		items := slices.Clone(v.List())
		if i, err := strconv.Atoi(name); err == nil && i < len(items) {
			items[i] = prune(items[i], path[1:])
		}
		return value.OfList(items...)
	case value.Object:
		m := v.Map().Clone()
		member, has := m.Get(name)
		switch {
		case has && len(path) > 1:
			m.Set(name, prune(member, path[1:]))
		case has:
			m.Delete(name)
		case len(path) == 1:
			m.Set(name, value.OfString("?"))
		}
		return value.OfMap(m)
	}
	return v
}

// checkMark is the key under which checks are.
const checkMark = "expect"

// readTags reads the values of nodes with !raw and !file, outside of checks.
func (r *reader) readTags(n *yaml.Node) {
	n = yaml.Resolve(n)
	switch n.Tag {
	case "!raw":
		v, err := yaml.Value(yaml.WithoutTag(n))
		if err != nil {
			r.reportYAML(err)
		}
		r.literals[n] = v
		return
	case "!file":
		r.literals[n] = r.readFile(n)
		return
	}
	for i, c := range n.Content {
		if n.Kind != yaml.Mapping || i%2 == 0 || !isChecks(n.Content[i-1], c) {
			r.readTags(c)
		}
	}
}

// isChecks reports whether a member is a list of checks.
func isChecks(key, v *yaml.Node) bool {
	return yaml.Resolve(key).Value == checkMark && yaml.Resolve(v).Kind == yaml.Sequence
}

// withoutTags returns a copy of a tree in which literals are null, and checks empty lists.
func (r *reader) withoutTags(n *yaml.Node) *yaml.Node {
	n = yaml.Resolve(n)
	if _, isLiteral := r.literals[n]; isLiteral {
		return &yaml.Node{Kind: yaml.Scalar, Tag: "!!str", Line: n.Line, Column: n.Column}
	}
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		if n.Kind == yaml.Mapping && i%2 == 1 && isChecks(n.Content[i-1], child) {
			empty := *yaml.Resolve(child)
			empty.Content = nil
			c.Content[i] = &empty
			continue
		}
		c.Content[i] = r.withoutTags(child)
	}
	return &c
}

// withLiterals returns a value with the literals of its nodes.
func (r *reader) withLiterals(n *yaml.Node, v value.Value) value.Value {
	n = yaml.Resolve(n)
	if literal, ok := r.literals[n]; ok {
		return literal
	}
	switch n.Kind {
	case yaml.Sequence:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = r.withLiterals(n.Content[i], item)
		}
		return value.OfList(items...)
	case yaml.Mapping:
		m := value.NewMap(v.Map().Len())
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := yaml.Resolve(n.Content[i]).Value
			if member, ok := v.Get(key); ok {
				m.Set(key, r.withLiterals(n.Content[i+1], member))
			}
		}
		return value.OfMap(m)
	}
	return v
}

// readFile returns the content of a file beside the test file: data, or text.
func (r *reader) readFile(n *yaml.Node) (v value.Value) {
	path := filepath.FromSlash(n.Value)
	if !filepath.IsLocal(path) {
		r.problems = append(r.problems, flow.NewProblem(r.position(n, 0), wording.Say("!file %s leads out of the folder of the test file", n.Value), wording.Say("keep the file beside the test file, or in a folder below it")))
		return v
	}
	path, content, err := r.folder().Read(path)
	if err != nil {
		r.problems = append(r.problems, flow.NewProblem(r.position(n, 0), wording.Say("cannot read %s: %w", n.Value, withoutPath(err)), files.Hint(err)))
		return v
	}
	r.otherFiles[path] = true
	v, err = files.Parse(path, content)
	if err != nil {
		r.problems = append(r.problems, flow.NewProblem(r.position(n, 0), wording.Say("%s: %w", n.Value, err), wording.Text{}))
	}
	return v
}

// folder returns where the files begin that the test file names.
func (r *reader) folder() files.Folder { return files.Folder{Dir: r.dir, Root: r.loader.Root} }

// parseChecks reads all items of expect.
func (r *reader) parseChecks(doc value.Value) {
	scope := &check.Scope{File: r.file, Dir: r.dir, Root: r.loader.Root, Cases: []string{}, Columns: slices.Concat([]string{}, r.data.columns)}
	scope.At = func(n *yaml.Node, offset int) flow.Position {
		pos := r.position(n, offset)
		pos.File = r.file // as results name it
		return pos
	}
	for _, f := range r.flows {
		scope.Flows = append(scope.Flows, f.flow)
	}
	scope.Registry = r.loader.Flows.Registry
	scope.PluginChecks = slices.Concat([]string{}, r.loader.Flows.Registry.TestCheckNames())
	cases, _ := doc.Get("cases")
	for _, c := range cases.List() {
		name, _ := c.Get("name")
		if text, ok := name.Str(); ok {
			scope.Cases = append(scope.Cases, text)
		}
	}
	r.defaults = r.parseItems("/defaults/"+checkMark, scope)
	for i, c := range cases.List() {
		checks := r.parseItems("/cases/"+itoa(i)+"/"+checkMark, scope)
		name, _ := c.Get("name")
		if text, ok := name.Str(); ok {
			r.checkSelf(checks, text)
		}
		r.cases = append(r.cases, checks)
	}
}

// parseItems reads the items of one list.
func (r *reader) parseItems(pointer string, scope *check.Scope) (all []*check.Check) {
	list, _, found := yaml.Walk(r.root, pointer)
	if !found || yaml.Resolve(list).Kind != yaml.Sequence {
		return nil
	}
	for _, n := range yaml.Resolve(list).Content {
		c, problems := check.Parse(n, scope)
		for _, p := range problems {
			if p.Pos.File == r.file {
				p.Pos.File = r.shown
			}
			r.problems = append(r.problems, p)
		}
		if c == nil {
			continue
		}
		r.checkNeeds(c)
		all = append(all, c)
	}
	return all
}

// checkSelf reports checks of a case that compare it with itself: they would pass for ever.
func (r *reader) checkSelf(checks []*check.Check, name string) {
	for _, c := range checks {
		if name == "" || !slices.Contains(c.Needs(), check.Need{Case: name}) {
			continue
		}
		pos := c.Pos
		pos.File = r.shown
		r.problems = append(r.problems, flow.NewProblem(pos, wording.Say("the check compares the case %q with itself", name), wording.Say("name another case of the file")))
	}
}

// checkNeeds reports flows that a check compares with and that no case runs.
func (r *reader) checkNeeds(c *check.Check) {
	for _, need := range c.Needs() {
		known := slices.ContainsFunc(r.flows, func(f *loadedFlow) bool { return f.name == need.Flow })
		if need.Flow == "" || known {
			continue
		}
		pos := c.Pos
		pos.File = r.shown
		r.problems = append(r.problems, flow.NewProblem(pos, wording.Say("the file does not run the flow %s", need.Flow), wording.Say("list both: flows: [A.yaml, B.yaml]")))
	}
}

// template is a compiled text: one {{ expression }}, which keeps its type, or a template.
type template struct {
	expr *prompt.Expr
	text *prompt.Template
}

// rowScope is what templates of inputs see.
type rowScope struct{ row value.Value }

const rowName = "row"

// Lookup finds row.
func (s rowScope) Lookup(name string) (value.Value, bool, error) {
	return s.row, name == rowName && !s.row.IsNull(), nil
}

// compile compiles a text, once; nil where it is wrong.
func (r *reader) compile(n *yaml.Node) *template {
	if t, known := r.templates[n]; known {
		return t
	}
	r.templates[n] = nil
	text, offset, isExpr := prompt.SingleExpr(n.Value)
	if !isExpr {
		text, offset = n.Value, 0
	}
	src := prompt.Source{File: r.shown, Text: text, At: func(at int) (line, col int) {
		pos := r.position(n, offset+at)
		return pos.Line, pos.Col
	}}
	t := &template{}
	var refs []prompt.Ref
	var err error
	if isExpr {
		t.expr, err = prompt.ParseExpr(src, nil)
		if err == nil {
			refs = t.expr.Refs()
		}
	} else if t.text, err = prompt.Parse(src); err == nil {
		refs = t.text.Refs()
	}
	if err != nil {
		r.reportTemplate(n, err)
		return nil
	}
	if !r.checkRefs(n, offset, refs) {
		return nil
	}
	r.templates[n] = t
	return t
}

// checkRefs reports the names that inputs do not see, and whether there are none.
func (r *reader) checkRefs(n *yaml.Node, offset int, refs []prompt.Ref) bool {
	ok := true
	for _, ref := range refs {
		pos := r.position(n, offset+ref.Offset)
		name := strings.Join(ref.Path, ".")
		switch {
		case ref.Path[0] != rowName:
			r.reportOnce(pos, wording.Say("unknown name %q", name), wording.Say("templates of inputs see row, a row of the dataset"))
		case r.data.rows == nil:
			r.reportOnce(pos, wording.Say("there is no row: the file has no dataset"), wording.Say("add dataset: {file: rows.csv}"))
		case len(ref.Path) > 1 && !ref.Guarded && !slices.Contains(r.data.columns, ref.Path[1]):
			r.reportOnce(pos, wording.Say("the dataset has no column %q", ref.Path[1]), wording.Of(value.DidYouMeanOrList(ref.Path[1], r.data.columns)))
		default:
			continue
		}
		ok = false
	}
	return ok
}

// reportTemplate reports an error of a template.
func (r *reader) reportTemplate(n *yaml.Node, err error) {
	pos := r.position(n, 0)
	message, hint := wording.OfError(err), wording.Text{}
	if wrong, ok := err.(*prompt.Error); ok { //nolint:errorlint // the package returns it as it is
		message, hint = wrong.Text()
		if wrong.Line > 0 {
			pos.Line, pos.Col = wrong.Line, wrong.Col
		}
	}
	r.reportOnce(pos, message, hint)
}

// render returns the value of a node, its templates filled in for a row.
func (r *reader) render(n *yaml.Node, row value.Value) (v value.Value, ok bool) {
	n = yaml.Resolve(n)
	if literal, isLiteral := r.literals[n]; isLiteral {
		return literal, true
	}
	switch n.Kind {
	case yaml.Sequence:
		items := make([]value.Value, len(n.Content))
		ok = true
		for i, c := range n.Content {
			item, rendered := r.render(c, row)
			items[i], ok = item, ok && rendered
		}
		return value.OfList(items...), ok
	case yaml.Mapping:
		m := value.NewMap(len(n.Content) / 2)
		ok = true
		for i := 0; i+1 < len(n.Content); i += 2 {
			member, rendered := r.render(n.Content[i+1], row)
			ok = ok && rendered
			m.Set(yaml.Resolve(n.Content[i]).Value, member)
		}
		return value.OfMap(m), ok
	}
	if n.ShortTag() != "!!str" || !prompt.HasTags(n.Value) {
		v, err := yaml.Value(n)
		return v, err == nil
	}
	return r.renderText(n, row)
}

func (r *reader) renderText(n *yaml.Node, row value.Value) (v value.Value, ok bool) {
	t := r.compile(n)
	if t == nil {
		return v, false
	}
	var err error
	if t.expr != nil {
		v, err = t.expr.Eval(context.Background(), rowScope{row})
	} else {
		v, err = t.text.RenderValue(context.Background(), rowScope{row})
	}
	if err != nil {
		r.reportTemplate(n, err)
		return v, false
	}
	return v, true
}

// duration reads a duration; 0 where the file has none, or a value of another type, which is reported elsewhere.
func (r *reader) duration(pointer, text string) time.Duration {
	if node, _, isGiven := yaml.Walk(r.root, pointer); text == "" && (!isGiven || yaml.Resolve(node).ShortTag() != "!!str") {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.reportOnce(r.at(pointer), wording.Say("invalid duration %q", text), wording.Say("use 500ms, 30s, 2m or 1h30m"))
	}
	return d
}

// checkProvider reports a provider that the settings do not have.
func (r *reader) checkProvider(pointer, name string) {
	known := r.loader.Flows.Providers
	if name == "" || known == nil || slices.Contains(known, name) {
		return
	}
	hint := wording.Of(value.DidYouMeanOrList(name, known))
	if file := r.providersFile(name); file != "" {
		hint = wording.Say("%[1]s has it: copy its llm into the settings, or add --config %[1]s", file)
	}
	r.reportOnce(r.at(pointer), wording.Say("unknown provider %q", name), hint)
}

// ProvidersSuffix is the end of the name of a file with the providers that imported tests want,
// where the project had settings before.
const ProvidersSuffix = ".providers.yaml"

// providersFile returns the file beside an imported test file that has a provider; "" for none.
func (r *reader) providersFile(name string) string {
	file := strings.TrimSuffix(r.shown, Suffix) + ProvidersSuffix
	data, err := calls.ReadFile(file, yaml.MaxBytes)
	if err != nil {
		return ""
	}
	settings, err := yaml.ParseValue(data)
	if err != nil {
		return ""
	}
	providers, _ := settings.At("/llm/providers")
	for _, p := range providers.List() {
		own, _ := p.Get("name")
		if text, _ := own.Str(); text == name {
			return file
		}
	}
	return ""
}
