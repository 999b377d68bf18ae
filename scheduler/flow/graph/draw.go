package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// Mermaid returns the graph as a Mermaid flowchart. An arrow leads from a step to one that needs it, dashed and
// labelled with the condition if that one has when. A step in a double frame runs once per item; a sub-flow has
// its own box.
func (g *Graph) Mermaid() string { return draw(g, mermaidFormat{}) }

// Dot returns the graph in the language of Graphviz, drawn like [Graph.Mermaid].
func (g *Graph) Dot() string { return draw(g, dotFormat{}) }

// graphFormat writes the parts of a picture. Names are ours and need no escape;
// labels are lines of the user's text.
type graphFormat interface {
	open(b *strings.Builder)
	close(b *strings.Builder)
	openFlow(b *strings.Builder, depth int, name string, label []string)
	closeFlow(b *strings.Builder, depth int)
	node(b *strings.Builder, depth int, name string, label []string, list bool)
	edge(b *strings.Builder, depth int, from, to edgeEnd, label string)
}

// edgeEnd is an end of an edge: a step, or a whole sub-flow with first, one of the steps in it.
type edgeEnd struct {
	name, first string
	isFlow      bool
}

func draw(g *Graph, format graphFormat) string {
	var b strings.Builder
	format.open(&b)
	drawGraph(&b, g, format, "s", 1)
	format.close(&b)
	return b.String()
}

// drawGraph draws the steps of a flow and returns the name of the first; prefix makes
// the names unique.
func drawGraph(b *strings.Builder, g *Graph, format graphFormat, prefix string, depth int) (first string) {
	ends := make(map[string]edgeEnd, len(g.Nodes))
	needy := make(map[string]bool, len(g.Edges))
	for _, e := range g.Edges {
		needy[e.To] = true
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		name := prefix + strconv.Itoa(i)
		end := edgeEnd{name, name, false}
		if n.Sub != nil {
			format.openFlow(b, depth, name, n.label(needy[n.ID]))
			end = edgeEnd{name, drawGraph(b, n.Sub, format, name+"_", depth+1), true}
			format.closeFlow(b, depth)
		} else {
			format.node(b, depth, name, n.label(needy[n.ID]), n.ForEach != "")
		}
		ends[n.ID] = end
		if i == 0 {
			first = end.first
		}
	}
	for _, e := range g.Edges {
		format.edge(b, depth, ends[e.From], ends[e.To], e.When)
	}
	return first
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

type mermaidFormat struct{}

func (mermaidFormat) open(b *strings.Builder) { b.WriteString("flowchart TD\n") }
func (mermaidFormat) close(*strings.Builder)  {}

func (mermaidFormat) openFlow(b *strings.Builder, depth int, name string, label []string) {
	fmt.Fprintf(b, "%ssubgraph %s[\"%s\"]\n", indent(depth), name, mermaidText(label...))
}

func (mermaidFormat) closeFlow(b *strings.Builder, depth int) {
	fmt.Fprintf(b, "%send\n", indent(depth))
}

func (mermaidFormat) node(b *strings.Builder, depth int, name string, label []string, list bool) {
	left, right := "[", "]"
	if list {
		left, right = "[[", "]]"
	}
	fmt.Fprintf(b, "%s%s%s\"%s\"%s\n", indent(depth), name, left, mermaidText(label...), right)
}

func (mermaidFormat) edge(b *strings.Builder, depth int, from, to edgeEnd, label string) {
	arrow := "-->"
	if label != "" {
		arrow = fmt.Sprintf("-. \"%s\" .->", mermaidText(label))
	}
	fmt.Fprintf(b, "%s%s %s %s\n", indent(depth), from.name, arrow, to.name)
}

var mermaidEscaper = strings.NewReplacer(
	"#", "#35;", `"`, "#quot;", "&", "#amp;", "<", "#lt;", ">", "#gt;", "`", "#96;", "\r", "", "\n", "<br/>",
)

func mermaidText(lines ...string) string { return escapeLines(mermaidEscaper, lines, "<br/>") }

type dotFormat struct{}

func (dotFormat) open(b *strings.Builder) {
	b.WriteString("digraph flow {\n  compound=true;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
}

func (dotFormat) close(b *strings.Builder) { b.WriteString("}\n") }

func (dotFormat) openFlow(b *strings.Builder, depth int, name string, label []string) {
	fmt.Fprintf(b, "%ssubgraph cluster_%s {\n%slabel=%s;\n", indent(depth), name, indent(depth+1), dotText(label...))
}

func (dotFormat) closeFlow(b *strings.Builder, depth int) { fmt.Fprintf(b, "%s}\n", indent(depth)) }

func (dotFormat) node(b *strings.Builder, depth int, name string, label []string, list bool) {
	more := ""
	if list {
		more = ", peripheries=2"
	}
	fmt.Fprintf(b, "%s%s [label=%s%s];\n", indent(depth), name, dotText(label...), more)
}

func (dotFormat) edge(b *strings.Builder, depth int, from, to edgeEnd, label string) {
	var attributes []string
	if label != "" {
		attributes = append(attributes, "style=dashed", "label="+dotText(label))
	}
	if from.isFlow {
		attributes = append(attributes, "ltail=cluster_"+from.name)
	}
	if to.isFlow {
		attributes = append(attributes, "lhead=cluster_"+to.name)
	}
	list := ""
	if len(attributes) > 0 {
		list = " [" + strings.Join(attributes, ", ") + "]"
	}
	fmt.Fprintf(b, "%s%s -> %s%s;\n", indent(depth), from.first, to.first, list)
}

var dotEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "", "\n", `\n`)

func dotText(lines ...string) string { return `"` + escapeLines(dotEscaper, lines, `\n`) + `"` }

func escapeLines(escaper *strings.Replacer, lines []string, lineBreak string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = escaper.Replace(line)
	}
	return strings.Join(escaped, lineBreak)
}
