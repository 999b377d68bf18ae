package suite

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// rowScope holds the names for templates of inputs.
type rowScope struct{ row value.Value }

const rowName = "row"

// Lookup finds row.
func (s rowScope) Lookup(name string) (value.Value, bool, error) {
	return s.row, name == rowName && !s.row.IsNull(), nil
}

// compile compiles a text, once; nil if it is wrong.
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
