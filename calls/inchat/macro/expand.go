package macro

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Expand replaces the macros of a text. Macros set variables in vars. The only errors come from ctx.
func (m *Machine) Expand(ctx context.Context, t *Text, vars *Vars) (Result, error) {
	r := &run{Machine: m, ctx: ctx, vars: vars}
	var written func(n node, start, end int)
	if m.WithSpans {
		written = r.addSpan
	}
	r.result.Text = r.expandNodes(t.nodes, written)
	return r.result, ctx.Err()
}

// addSpan records the output of a node outside of macros.
func (r *run) addSpan(n node, start, end int) {
	read := r.read
	r.read = nil
	if start == end {
		return
	}
	span := Span{Start: start, End: end, SourceStart: n.start, SourceEnd: n.end}
	if n.call != nil {
		span.IsMacro, span.Variables = true, read
		span.IsVariable = len(read) > 0 && n.call.printsVariable()
	}
	r.result.Spans = append(r.result.Spans, span)
}

// printsVariable reports whether a macro prints one variable as it is.
func (c *call) printsVariable() bool {
	return aliases[c.name] != "" || c.name == "getvar" || c.name == "getglobalvar"
}

// expandNodes returns the text of nodes. It calls written, which may be nil, with the bytes
// that each of them takes in it.
func (r *run) expandNodes(nodes []node, written func(n node, start, end int)) string {
	if len(nodes) == 0 || r.ctx.Err() != nil {
		return ""
	}
	if len(nodes) == 1 && nodes[0].call == nil && written == nil {
		return nodes[0].text
	}
	var b strings.Builder
	for _, n := range nodes {
		s := n.text
		if n.call != nil {
			s = r.expandCall(n.call)
		}
		r.size += len(s)
		if r.size > maxOutput {
			if r.size-len(s) <= maxOutput {
				r.addError("the text grows beyond %d bytes; the rest is dropped", maxOutput)
			}
			break
		}
		b.WriteString(s)
		if written != nil {
			written(n, b.Len()-len(s), b.Len())
		}
	}
	return b.String()
}

func (r *run) expandCall(c *call) string {
	if c.dynamic {
		return r.expandPythonOf(c.param)
	}
	return c.expand(r, c, r.expandNodes(c.param, nil))
}

// expandPythonOf runs code that has macros in it. Their results are data: inside a string they are a piece of the
// string, outside a number, True, False, None or a string, but never code.
func (r *run) expandPythonOf(nodes []node) string {
	var code strings.Builder
	var holes []string
	for _, n := range nodes {
		if n.call == nil {
			code.WriteString(strings.ReplaceAll(n.text, hole, " "))
			continue
		}
		code.WriteString(hole)
		holes = append(holes, r.expandCall(n.call))
	}
	p, err := compilePython(code.String(), holes)
	if err != nil {
		r.addError("python %q: %v", value.Truncate(strings.ReplaceAll(code.String(), hole, "…"), 60), err)
		return ""
	}
	return r.execProgram(p)
}
