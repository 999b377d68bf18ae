// Package importer turns files of other programs into flows, tests and settings of this one. It has the common
// parts of all kinds: a [Source] accounts for each leaf of a file that was read, a [Plan] has the files to write
// and the [Report], and [Write] puts them on the disk. Each kind is a package below it.
//
// Nothing of a source is dropped silently: each leaf, a scalar or an empty list or map, is kept, changed or not
// kept, once. A leaf that no reader has looked at is not kept: for example, a misspelt key is in the report as not
// kept.
package importer

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Verdict says whether a leaf was kept.
type Verdict string

// The verdicts.
const (
	Kept    Verdict = "kept"
	Changed Verdict = "changed"
	NotKept Verdict = "not_kept"
)

// Leaf is a leaf of a source with its verdict.
type Leaf struct {
	// File is the source, relative to the folder of the file that was imported.
	File    string `json:"file"`
	Pointer string `json:"pointer"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	// Value is the beginning of the leaf.
	Value   string  `json:"value"`
	Verdict Verdict `json:"verdict"`
	// Note says how it was changed, or why it is not kept and how to replace it; "" for a leaf that is kept.
	Note string `json:"note,omitempty"`
}

// maxShown is how much of a leaf the report shows.
const maxShown = 80

// Report lists the verdicts of all leaves. A reader of a kind makes it; it is only data.
type Report struct {
	Kind   string `json:"kind"`
	Source string `json:"source"`
	// Kept, Changed and NotKept count the leaves; together they are all.
	Kept    int    `json:"kept"`
	Changed int    `json:"changed"`
	NotKept int    `json:"not_kept"`
	Leaves  []Leaf `json:"leaves"`
}

// Add adds the leaves of a source.
func (r *Report) Add(leaves []Leaf) {
	r.Leaves = append(r.Leaves, leaves...)
	for _, l := range leaves {
		switch l.Verdict {
		case Kept:
			r.Kept++
		case Changed:
			r.Changed++
		default:
			r.NotKept++
		}
	}
}

// Source is a file that was read, with the verdicts of its nodes. A reader makes one for each file and marks nodes
// in it; it is not safe for concurrent use.
type Source struct {
	File string
	Root *yaml.Node
	// marks are by node. A mark holds for all leaves below that have none of their own.
	marks map[*yaml.Node]mark
}

type mark struct {
	verdict Verdict
	note    wording.Text
}

// NewSource returns the source of a file with a parsed root.
func NewSource(file string, root *yaml.Node) *Source {
	return &Source{File: file, Root: root, marks: map[*yaml.Node]mark{}}
}

// Keep marks a node, and everything below it, as kept as it is.
func (s *Source) Keep(n *yaml.Node) { s.set(n, mark{verdict: Kept}) }

// Change marks a node as changed.
func (s *Source) Change(n *yaml.Node, how wording.Text) { s.set(n, mark{Changed, how}) }

// Drop marks a node as not kept, whatever is marked already.
func (s *Source) Drop(n *yaml.Node, why wording.Text) {
	if n != nil {
		s.marks[yaml.Resolve(n)] = mark{NotKept, why}
	}
}

// set marks a node, unless something of it was lost already: a leaf that is used twice is kept only if both uses
// keep it.
func (s *Source) set(n *yaml.Node, m mark) {
	if n == nil {
		return
	}
	n = yaml.Resolve(n)
	old, ok := s.marks[n]
	if ok && severity[old.verdict] > severity[m.verdict] {
		return
	}
	s.marks[n] = m
}

var severity = map[Verdict]int{Kept: 1, Changed: 2, NotKept: 3}

// Leaves returns all leaves in the order of the file, with their verdicts. An alias counts once, at the place of
// its anchor.
func (s *Source) Leaves(language string) (all []Leaf) {
	unread := mark{NotKept, wording.Say("nothing here takes it")}
	s.walk(s.Root, "", unread, false, func(n *yaml.Node, pointer string, m mark) {
		all = append(all, Leaf{
			File: s.File, Pointer: pointer, Line: n.Line, Col: n.Column, Value: value.Truncate(n.Value, maxShown), Verdict: m.verdict, Note: m.note.In(language),
		})
	})
	slices.SortStableFunc(all, func(a, b Leaf) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) })
	return all
}

// walk visits the leaves below a node; above is the mark that holds without another. Nothing below a lost node is
// kept: isLost is set there.
func (s *Source) walk(n *yaml.Node, pointer string, above mark, isLost bool, visit func(*yaml.Node, string, mark)) {
	if n == nil || n.Kind == yaml.Alias {
		return
	}
	if m, ok := s.marks[n]; ok {
		if !isLost || m.verdict == NotKept {
			above = m
		}
		isLost = isLost || m.verdict == NotKept
	}
	if len(n.Content) == 0 {
		visit(n, pointer, above)
		return
	}
	for i, c := range n.Content {
		if n.Kind != yaml.Mapping {
			s.walk(c, pointer+"/"+strconv.Itoa(i), above, isLost, visit)
		} else if i%2 == 1 {
			s.walk(c, pointer+"/"+value.Escape(n.Content[i-1].Value), above, isLost, visit)
		}
	}
}

// File is a file to write. Path is relative to the folder of the import, with slashes.
type File struct {
	Path string
	Data []byte
}

// Plan is the result of an import, before it is written. A reader of a kind makes it.
type Plan struct {
	Files  []File
	Report Report
}
