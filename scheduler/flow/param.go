package flow

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/jsonc"
	"github.com/callnode/scheduler/llm/value/span"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow/internal/yamltext"
)

// Param is a compiled value of a flow file: a literal, a template, an expression,
// or a map or list of such. A [Loader] makes it; it is immutable, and may be rendered by many
// goroutines at once.
type Param struct {
	Pos Position
	// File is the path that !file names, as the flow writes it; "" for a value in the flow itself.
	File string
	// Exactly one of these is set; if none is, Literal counts.
	Expr *prompt.Expr
	Text *prompt.Template
	Map  []Member
	// Over, with Map, gives a map whose members override Map's.
	Over    *Param
	List    []*Param
	Literal value.Value

	// TextOffset is the byte at which the template, or the expression, begins in the text
	// that the flow has: after the braces of a text that is one expression.
	TextOffset int

	unknown bool    // it did not compile
	source  string  // of a template, of an expression without its braces
	origin  *origin // of the parameters of a step, of its items, of the outputs
}

// Member is a member of a map.
type Member struct {
	Key string
	Pos Position
	// Optional means that the member is left out if its expression is undefined.
	Optional bool
	*Param
}

// Render returns the value. A whole {{ expression }} keeps its type; parts that come from the secrets of a
// [prompt.SecretScope] are marked ([value.OfSecret]).
func (p *Param) Render(ctx context.Context, scope prompt.Scope) (value.Value, error) {
	var r renderer
	return r.render(ctx, p, scope, "")
}

// RenderTraced renders like [Param.Render], and returns the origins of the texts that templates and expressions
// gave, with their pointers in the value. A path, such as {{ inputs.name }}, and text without a template are left
// out: the flow itself has their origins.
func (p *Param) RenderTraced(ctx context.Context, scope prompt.Scope) (value.Value, []span.Member, error) {
	r := renderer{isTraced: true}
	v, err := r.render(ctx, p, scope, "")
	return v, r.members, err
}

// renderer renders a parameter. It lives for one rendering.
type renderer struct {
	isTraced bool
	members  []span.Member
}

// render returns the value of a parameter at a pointer.
func (r *renderer) render(ctx context.Context, p *Param, scope prompt.Scope, pointer string) (value.Value, error) {
	switch {
	case p == nil:
		return value.Value{}, nil
	case p.Expr != nil:
		if _, isPath := p.Expr.Path(); isPath || !r.isTraced {
			return p.Expr.Eval(ctx, scope)
		}
		v, members, err := p.Expr.EvalTraced(ctx, scope)
		for _, m := range members {
			m.Pointer = pointer + m.Pointer
			r.members = append(r.members, m)
		}
		return v, err
	case p.Text != nil:
		if !r.isTraced {
			return p.Text.RenderValue(ctx, scope)
		}
		v, spans, err := p.Text.RenderTraced(ctx, scope)
		if len(spans) > 0 {
			r.members = append(r.members, span.Member{Pointer: pointer, Spans: spans})
		}
		return v, err
	case p.Map != nil:
		return r.renderMap(ctx, p, scope, pointer)
	case p.List != nil:
		items := make([]value.Value, len(p.List))
		for i, item := range p.List {
			v, err := r.render(ctx, item, scope, r.below(pointer, strconv.Itoa(i)))
			if err != nil {
				return value.Value{}, err
			}
			items[i] = v
		}
		return value.OfList(items...), nil
	}
	return p.Literal, nil
}

// below returns the pointer of a member; "" unless the rendering is traced.
func (r *renderer) below(pointer, key string) string {
	if !r.isTraced {
		return ""
	}
	return pointer + "/" + value.Escape(key)
}

// renderMap renders a map whose own members are overridden by Over's. An Over that is not a map is returned
// unchanged: the call refuses it.
func (r *renderer) renderMap(ctx context.Context, p *Param, scope prompt.Scope, pointer string) (value.Value, error) {
	own := value.NewMap(len(p.Map))
	for _, member := range p.Map {
		v, err := r.render(ctx, member.Param, scope, r.below(pointer, member.Key))
		if member.Optional && isUndefined(err) {
			continue
		}
		if err != nil {
			return value.Value{}, err
		}
		own.Set(member.Key, v)
	}
	if p.Over == nil {
		return value.OfMap(own), nil
	}
	ownMembers := len(r.members)
	over, err := r.render(ctx, p.Over, scope, pointer)
	if err != nil || over.Kind() != value.Object {
		return over, err
	}
	for k, v := range over.Map().All() {
		own.Set(k, v)
		r.forget(r.below(pointer, k), ownMembers)
	}
	return value.OfMap(own), nil
}

// forget drops the ones of the first members that are at a pointer or below it: others override them.
func (r *renderer) forget(pointer string, first int) {
	if !r.isTraced {
		return
	}
	for i := range r.members[:first] {
		if at := r.members[i].Pointer; at == pointer || strings.HasPrefix(at, pointer+"/") {
			r.members[i].Spans, r.members[i].Keys = nil, nil
		}
	}
}

func isUndefined(err error) bool {
	var e *prompt.Error
	return errors.As(err, &e) && e.Class == prompt.Undefined && e.Err == nil
}

// Excerpt returns the file's text for a param, without the braces of an expression, as far as it fits a label.
func (p *Param) Excerpt() string {
	if v, static := p.Static(); static {
		return clipText(v.JSON())
	}
	if p.Expr == nil {
		return "..."
	}
	return clipText(p.source)
}

// clipText returns a text as far as it fits a line of a message or a label.
func clipText(s string) string {
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}

// Static returns the value of a param that has nothing to render.
func (p *Param) Static() (value.Value, bool) {
	if p == nil {
		return value.Value{}, true
	}
	return p.Literal, p.Expr == nil && p.Text == nil && p.Map == nil && p.List == nil
}

// Written returns the literal values that a flow writes for a parameter, with null for computed ones.
func (p *Param) Written() value.Value {
	switch {
	case p == nil || p.Expr != nil || p.Text != nil || p.Over != nil:
		return value.Value{}
	case p.Map != nil:
		m := value.NewMap(len(p.Map))
		for _, member := range p.Map {
			m.Set(member.Key, member.Param.Written())
		}
		return value.OfMap(m)
	case p.List != nil:
		items := make([]value.Value, len(p.List))
		for i, item := range p.List {
			items[i] = item.Written()
		}
		return value.OfList(items...)
	}
	return p.Literal
}

// EachRef visits the outer names that a param mentions.
func (p *Param) EachRef(visit func(prompt.Ref)) {
	if p == nil {
		return
	}
	var refs []prompt.Ref
	if p.Expr != nil {
		refs = p.Expr.Refs()
	} else if p.Text != nil {
		refs = p.Text.Refs()
	}
	for _, ref := range refs {
		visit(ref)
	}
	for i := range p.Map {
		p.Map[i].EachRef(visit)
	}
	p.Over.EachRef(visit)
	for _, item := range p.List {
		item.EachRef(visit)
	}
}

// PosAt returns the place of the param's value at a JSON pointer, or of the nearest one around it.
func (p *Param) PosAt(pointer string) Position {
	for _, token := range PointerTokens(pointer) {
		next := (*Param)(nil)
		for i := range p.Map {
			if p.Map[i].Key == token {
				next = p.Map[i].Param
			}
		}
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(p.List) {
			next = p.List[i]
		}
		if next == nil && p.Over != nil {
			return p.Over.Pos
		}
		if next == nil {
			break
		}
		p = next
	}
	return p.Pos
}

// Descend follows pointer into the flow's tree of parameters as far as it is written out there; rest is the
// remaining pointer inside the value reached.
func Descend(p *Param, pointer string) (at *Param, rest string) {
	for pointer != "" {
		token, tail, isInside := strings.Cut(pointer[1:], "/")
		if isInside {
			tail = "/" + tail
		}
		var next *Param
		for _, m := range p.Map {
			if value.Escape(m.Key) == token {
				next = m.Param
			}
		}
		if i, err := strconv.Atoi(token); err == nil && i < len(p.List) {
			next = p.List[i]
		}
		if next == nil && p.Over != nil {
			return Descend(p.Over, pointer)
		}
		if next == nil {
			return p, pointer
		}
		p, pointer = next, tail
	}
	return p, ""
}

// PointerTokens returns the unescaped tokens of a JSON pointer; none for "".
func PointerTokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(pointer[1:], "/")
	for i := range list {
		list[i] = value.Unescape(list[i])
	}
	return list
}

// origin has the data for finding places in the parameters of a step.
type origin struct {
	text  *flowText
	root  *yaml.Node
	files map[string][]byte // the files read by !file
	// data has the *dataText of each file of data that was asked for, by its path.
	data sync.Map
}

// dataText is the text of a file of data, and the functions that find the first byte of a value, and of the name
// of a member, by JSON pointer; ok is false if that is not known.
type dataText struct {
	*flowText
	offsetOf, nameOffset func(pointer string) (offset int, ok bool)
}

func newDataText(path string, content []byte) *dataText {
	text := newFlowText(path, content)
	unknown := func(string) (offset int, ok bool) { return 0, false }
	switch dataType(path) {
	case ".json", ".jsonc":
		doc, err := jsonc.Parse(content)
		if err != nil {
			return &dataText{text, unknown, unknown}
		}
		return &dataText{text, func(pointer string) (offset int, ok bool) { return doc.OffsetAt(pointer), true }, doc.NameOffset}
	case ".yaml", ".yml":
		root, err := yaml.Parse(content)
		if err != nil || root == nil {
			return &dataText{text, unknown, unknown}
		}
		offsetOf := func(pointer string) (offset int, ok bool) {
			node, _, found := yaml.Walk(root, pointer)
			return text.Offset(node.Line, node.Column), found // not found: it was merged from elsewhere
		}
		nameOffset := func(pointer string) (offset int, ok bool) {
			_, key, found := yaml.Walk(root, pointer)
			if !found || key == nil {
				return 0, false
			}
			return text.Offset(key.Line, key.Column), true
		}
		return &dataText{text, offsetOf, nameOffset}
	}
	return &dataText{text, unknown, unknown}
}

// copyAt returns the byte at which a text is in the file unchanged, if it is the value that begins at an offset;
// below 0 if it is written in another way.
func (t *dataText) copyAt(offset int, text string) int {
	rest := string(t.Bytes[offset:min(offset+len(text)+2, len(t.Bytes))])
	for _, quote := range []string{`"`, "'"} {
		if rest == quote+text+quote && !strings.ContainsAny(text, `\'`) {
			return offset + 1
		}
	}
	if isPlain := rest != "" && !strings.ContainsRune(`"'|>`, rune(rest[0])); isPlain && strings.HasPrefix(rest, text) {
		return offset
	}
	return -1
}

// Scalar is a text in a flow file, or in the text file that !file names. [Param.Scalar] makes it; it is immutable.
type Scalar struct {
	// Text is the text as YAML reads it: of a template, and of an expression with its braces, that text itself.
	Text     string
	position func(offset int) Position
}

// Position returns the place in the file of a byte of the text.
func (s *Scalar) Position(offset int) Position { return s.position(offset) }

// Scalar returns the text at a JSON pointer into the value; nil if there is none. p is as for [Param.Place].
func (p *Param) Scalar(pointer string) *Scalar {
	if p == nil || p.origin == nil {
		return nil
	}
	o := p.origin
	node, _, found := yaml.Walk(o.root, pointer)
	node = yaml.Resolve(node)
	if !found || node.Kind != yaml.Scalar {
		return nil
	}
	if ownTag(node) != "!file" {
		return &Scalar{node.Value, o.text.positionsWithin(node)}
	}
	path, content, ok := o.textFile(node)
	if !ok {
		return nil
	}
	text := newFlowText(path, content)
	return &Scalar{string(text.Bytes), text.position}
}

// NamePlace returns the place in the flow file of the name of a member of the map at a JSON pointer into the
// value. p is as for [Param.Place].
func (p *Param) NamePlace(pointer, name string) (pos Position, ok bool) {
	if p == nil || p.origin == nil {
		return Position{}, false
	}
	_, key, found := yaml.Walk(p.origin.root, pointer+"/"+value.Escape(name))
	if !found || key == nil {
		return Position{}, false
	}
	return p.origin.text.positionsWithin(yaml.Resolve(key))(0), true
}

// textFile returns the file that a !file node names; ok is false if it is not text.
func (o *origin) textFile(node *yaml.Node) (path string, content []byte, ok bool) {
	path = filepath.Join(filepath.Dir(o.text.file), filepath.FromSlash(node.Value))
	content, known := o.files[path]
	return path, content, known && dataType(path) == ""
}

// FileAt returns the path that !file names, as the flow writes it, and the place of that tag, if the value at a
// JSON pointer into the value comes from a file. p is as for [Param.Place].
func (p *Param) FileAt(pointer string) (name string, pos Position, ok bool) {
	if p == nil || p.origin == nil {
		return "", Position{}, false
	}
	node, _, _ := yaml.Walk(p.origin.root, pointer)
	node = yaml.Resolve(node)
	if ownTag(node) != "!file" {
		return "", Position{}, false
	}
	return node.Value, p.origin.text.positionOf(node), true
}

// FileOffset returns the offset in the text file that !file names of a byte of the text at a JSON pointer into the
// value; ok is false if the text comes from no such file. p is as for [Param.Place].
func (p *Param) FileOffset(pointer string, offset int) (at int, ok bool) {
	if _, _, isFile := p.FileAt(pointer); !isFile {
		return 0, false
	}
	node, _, found := yaml.Walk(p.origin.root, pointer)
	_, content, isText := p.origin.textFile(yaml.Resolve(node))
	if !found || !isText {
		return 0, false
	}
	if bytes.HasPrefix(content, yamltext.ByteOrderMark) {
		offset += len(yamltext.ByteOrderMark)
	}
	return offset, true
}

// DataPlace returns the beginning of the value at a JSON pointer into the value in the file of data that !file
// names: JSON, JSONC or YAML; if text is the name of a member of it, the beginning of that name. start is the byte
// of the file at which the text is unchanged, below 0 if it is written with escapes or folded. ok is false if the
// value comes from no such file, or its place is not known. p is as for [Param.Place].
func (p *Param) DataPlace(pointer, text string) (pos Position, start int, ok bool) {
	if _, _, isFile := p.FileAt(pointer); !isFile {
		return Position{}, 0, false
	}
	above := pointer
	node, _, found := yaml.Walk(p.origin.root, above)
	for !found {
		above = above[:strings.LastIndexByte(above, '/')]
		node, _, found = yaml.Walk(p.origin.root, above)
	}
	path, content, isText := p.origin.textFile(yaml.Resolve(node))
	if isText || content == nil {
		return Position{}, 0, false
	}
	stored, isKnown := p.origin.data.Load(path)
	if !isKnown {
		stored, _ = p.origin.data.LoadOrStore(path, newDataText(path, content))
	}
	data, _ := stored.(*dataText)
	below := pointer[len(above):]
	offset, ok := data.nameOffset(below + "/" + value.Escape(text))
	if !ok {
		offset, ok = data.offsetOf(below)
	}
	if !ok {
		return Position{}, 0, false
	}
	start = data.copyAt(offset, text)
	if start >= 0 {
		start += len(content) - len(data.Bytes) // the byte-order mark
	}
	return data.position(offset), start, true
}

// Place returns the place of a byte of the text at a JSON pointer into the value: in the flow file, or in the file
// that !file names. If the text is made when the flow runs, it is the place that makes it, and not exact. p has
// the parameters or the items of a step, or the outputs of the flow.
func (p *Param) Place(pointer string, offset int) (pos Position, exact bool) {
	if p == nil {
		return Position{}, false
	}
	at, _ := Descend(p, pointer)
	if at.Expr == nil && at.Text == nil {
		if s := p.Scalar(pointer); s != nil {
			return s.Position(offset), true
		}
	}
	return at.Pos, false
}

// Canonical returns the content of a param, without positions.
func (p *Param) Canonical() value.Value {
	switch {
	case p == nil:
		return value.Value{}
	case p.Expr != nil:
		return value.OfMap(value.Pairs("expression", p.source))
	case p.Text != nil:
		return value.OfMap(value.Pairs("template", p.source))
	case p.Map != nil:
		m := value.NewMap(len(p.Map))
		for _, member := range p.Map {
			m.Set(member.Key, member.Canonical())
		}
		if p.Over != nil {
			return value.OfMap(value.Pairs("map", m, "over", p.Over.Canonical()))
		}
		return value.OfMap(value.Pairs("map", m))
	case p.List != nil:
		items := make([]value.Value, len(p.List))
		for i, item := range p.List {
			items[i] = item.Canonical()
		}
		return value.OfMap(value.Pairs("list", value.OfList(items...)))
	}
	return value.OfMap(value.Pairs("literal", p.Literal))
}
