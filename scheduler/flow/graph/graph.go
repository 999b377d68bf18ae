// Package graph describes a flow as nodes and edges, and draws it for Mermaid and Graphviz. For example,
// a step b that needs a gives an edge from a to b.
package graph

import (
	"slices"

	"github.com/callnode/scheduler/scheduler/flow"
)

// maxGraphNodes limits the steps of sub-flows that a graph shows: flows that share flows multiply.
const maxGraphNodes = 2000

// Graph is a flow as data for drawing it: the HTTP API returns it as JSON, [Graph.Mermaid] and [Graph.Dot] draw
// it. It is made by [Of] and not changed after.
type Graph struct {
	Flow  string `json:"flow"`
	Nodes []Node `json:"nodes"`
	// Edges lead from a step to one that needs it.
	Edges []Edge `json:"edges"`
}

// Node is a step of a [Graph].
type Node struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Call string `json:"call"`
	// When is the step's condition and ForEach its list, each without the braces of an expression, as far as it fits
	// a label; "" if the step has none.
	When    string `json:"when,omitempty"`
	ForEach string `json:"for_each,omitempty"`
	// File, Line and Col are the place of the step.
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
	// Sub is the flow that the step runs, if it is known before the run and the graph does not grow too large.
	Sub *Graph `json:"sub,omitempty"`
}

// Edge leads from the step From to the step To, which needs it. When is the condition of To.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	When string `json:"when,omitempty"`
}

// Of returns a flow as nodes and edges.
func Of(f *flow.Flow) *Graph {
	room := maxGraphNodes
	return of(f, &room)
}

// of subtracts the nodes of sub-flows from the room left.
func of(f *flow.Flow, room *int) *Graph {
	g := &Graph{Flow: f.Name, Nodes: make([]Node, len(f.Steps)), Edges: []Edge{}}
	for i, s := range f.Steps {
		n := Node{ID: s.ID, Name: s.Name, Call: s.Call, File: s.Pos.File, Line: s.Pos.Line, Col: s.Pos.Col}
		if s.When != nil {
			n.When = s.When.Excerpt()
		}
		if s.ForEach != nil {
			n.ForEach = s.ForEach.Excerpt()
		}
		if s.Sub != nil && len(s.Sub.Steps) > 0 && len(s.Sub.Steps) <= *room {
			*room -= len(s.Sub.Steps)
			n.Sub = of(s.Sub, room)
		}
		g.Nodes[i] = n
		for _, need := range s.Needs {
			g.Edges = append(g.Edges, Edge{From: f.Steps[need].ID, To: s.ID, When: n.When})
		}
	}
	return g
}

// WithPaths returns the graph with the files as shown returns them, for readers who see no folders of this machine.
func (g *Graph) WithPaths(shown func(path string) string) *Graph {
	out := *g
	out.Nodes = slices.Clone(g.Nodes)
	for i := range out.Nodes {
		n := &out.Nodes[i]
		n.File = shown(n.File)
		if n.Sub != nil {
			n.Sub = n.Sub.WithPaths(shown)
		}
	}
	return &out
}

// label returns the lines that a drawing shows for a node. The condition of a node with edges is shown at these.
func (n *Node) label(hasNeeds bool) []string {
	lines := []string{n.ID}
	if n.Name != "" {
		lines = append(lines, n.Name)
	}
	if n.Sub != nil {
		lines = append(lines, n.Call+": "+n.Sub.Flow)
	} else {
		lines = append(lines, n.Call)
	}
	if n.ForEach != "" {
		lines = append(lines, "for each "+n.ForEach)
	}
	if n.When != "" && !hasNeeds {
		lines = append(lines, "when "+n.When)
	}
	return lines
}
