package flow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxDrawn bounds how many steps of sub-flows a picture shows: flows that share
// flows multiply.
const maxDrawn = 2000

// drawing is a picture of a flow in the making; the two formats differ only in
// how they write its parts.
type drawing struct {
	strings.Builder
	format graphFormat
	drawn  int
}

// graphFormat writes the parts of a picture. Names are ours and need no escape;
// labels are lines of the user's text.
type graphFormat interface {
	open(d *drawing)
	close(d *drawing)
	openFlow(d *drawing, depth int, name string, label []string)
	closeFlow(d *drawing, depth int)
	node(d *drawing, depth int, name string, label []string, list bool)
	edge(d *drawing, depth int, from, to edgeEnd, label string, dashed bool)
}

// edgeEnd is where an edge is tied: a step, or a whole sub-flow with first, one of
// the steps in it.
type edgeEnd struct {
	name, first string
	flow        bool
}

// Mermaid is the flow as a Mermaid flowchart. An arrow leads from a step to one
// that needs it, dashed and labelled with the condition where that one has when.
// A double frame runs once per item; a sub-flow stands in a box of its own.
func (f *Flow) Mermaid() string { return f.draw(mermaidFormat{}) }

// Dot is the flow as a Graphviz graph, drawn like [Flow.Mermaid].
func (f *Flow) Dot() string { return f.draw(dotFormat{}) }

func (f *Flow) draw(format graphFormat) string {
	d := &drawing{format: format}
	format.open(d)
	d.flow(f, "s", 1)
	format.close(d)
	return d.String()
}

// flow draws the steps of a flow; prefix makes their names unique.
func (d *drawing) flow(f *Flow, prefix string, depth int) (first string) {
	ends := make([]edgeEnd, len(f.Steps))
	for i, s := range f.Steps {
		ends[i] = d.step(f, s, prefix+strconv.Itoa(i), depth)
		if i == 0 {
			first = ends[i].first
		}
	}
	for i, s := range f.Steps {
		for _, n := range s.Needs {
			d.format.edge(d, depth, ends[n], ends[i], f.condition(s), s.When != nil)
		}
	}
	return first
}

func (d *drawing) step(f *Flow, s *Step, name string, depth int) edgeEnd {
	label := []string{s.ID}
	if s.Name != "" {
		label = append(label, s.Name)
	}
	if s.Sub != nil && len(s.Sub.Steps) > 0 && d.drawn+len(s.Sub.Steps) <= maxDrawn {
		d.drawn += len(s.Sub.Steps)
		label = append(label, s.Call+": "+s.Sub.Name)
		d.format.openFlow(d, depth, name, slices.Concat(label, f.notes(s)))
		first := d.flow(s.Sub, name+"_", depth+1)
		d.format.closeFlow(d, depth)
		return edgeEnd{name, first, true}
	}
	d.format.node(d, depth, name, slices.Concat(label, []string{s.Call}, f.notes(s)), s.ForEach != nil)
	return edgeEnd{name, name, false}
}

// notes are the lines of a label that say when and how often a step runs. A
// condition stands on the edges where there are any.
func (f *Flow) notes(s *Step) (lines []string) {
	if s.ForEach != nil {
		lines = append(lines, "for each "+f.excerpt(s.ForEach))
	}
	if len(s.Needs) == 0 && s.When != nil {
		lines = append(lines, "when "+f.condition(s))
	}
	return lines
}

func (f *Flow) condition(s *Step) string {
	if s.When == nil {
		return ""
	}
	return f.excerpt(s.When)
}

// excerpt is what the file says for a param, without the braces of an
// expression, as far as it fits a label.
func (f *Flow) excerpt(p *Param) string {
	if v, static := p.Static(); static {
		return clipText(v.JSON())
	}
	if p.Expr == nil {
		return "..."
	}
	return clipText(p.source)
}

type mermaidFormat struct{}

func (mermaidFormat) open(d *drawing) { d.WriteString("flowchart TD\n") }
func (mermaidFormat) close(*drawing)  {}

func (mermaidFormat) openFlow(d *drawing, depth int, name string, label []string) {
	fmt.Fprintf(d, "%ssubgraph %s[\"%s\"]\n", indent(depth), name, mermaidText(label))
}

func (mermaidFormat) closeFlow(d *drawing, depth int) { fmt.Fprintf(d, "%send\n", indent(depth)) }

func (mermaidFormat) node(d *drawing, depth int, name string, label []string, list bool) {
	left, right := "[", "]"
	if list {
		left, right = "[[", "]]"
	}
	fmt.Fprintf(d, "%s%s%s\"%s\"%s\n", indent(depth), name, left, mermaidText(label), right)
}

func (mermaidFormat) edge(d *drawing, depth int, from, to edgeEnd, label string, dashed bool) {
	arrow := "-->"
	if dashed {
		arrow = fmt.Sprintf("-. \"%s\" .->", mermaidText([]string{label}))
	}
	fmt.Fprintf(d, "%s%s %s %s\n", indent(depth), from.name, arrow, to.name)
}

var mermaidEscaper = strings.NewReplacer(
	"#", "#35;", `"`, "#quot;", "&", "#amp;", "<", "#lt;", ">", "#gt;", "`", "#96;", "\r", "", "\n", "<br/>",
)

func mermaidText(lines []string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = mermaidEscaper.Replace(line)
	}
	return strings.Join(escaped, "<br/>")
}

type dotFormat struct{}

func (dotFormat) open(d *drawing) {
	d.WriteString("digraph flow {\n  compound=true;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
}

func (dotFormat) close(d *drawing) { d.WriteString("}\n") }

func (dotFormat) openFlow(d *drawing, depth int, name string, label []string) {
	fmt.Fprintf(d, "%ssubgraph cluster_%s {\n%slabel=%s;\n", indent(depth), name, indent(depth+1), dotText(label))
}

func (dotFormat) closeFlow(d *drawing, depth int) { fmt.Fprintf(d, "%s}\n", indent(depth)) }

func (dotFormat) node(d *drawing, depth int, name string, label []string, list bool) {
	more := ""
	if list {
		more = ", peripheries=2"
	}
	fmt.Fprintf(d, "%s%s [label=%s%s];\n", indent(depth), name, dotText(label), more)
}

func (dotFormat) edge(d *drawing, depth int, from, to edgeEnd, label string, dashed bool) {
	var attributes []string
	if dashed {
		attributes = append(attributes, "style=dashed", "label="+dotText([]string{label}))
	}
	if from.flow {
		attributes = append(attributes, "ltail=cluster_"+from.name)
	}
	if to.flow {
		attributes = append(attributes, "lhead=cluster_"+to.name)
	}
	list := ""
	if len(attributes) > 0 {
		list = " [" + strings.Join(attributes, ", ") + "]"
	}
	fmt.Fprintf(d, "%s%s -> %s%s;\n", indent(depth), from.first, to.first, list)
}

var dotEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "", "\n", `\n`)

func dotText(lines []string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = dotEscaper.Replace(line)
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}

func indent(depth int) string { return strings.Repeat("  ", depth) }
