package yaml

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/callnode/scheduler/llm/value"
)

// Node is a parsed piece of YAML with its Line and Column.
type Node = yaml.Node

// The kinds of nodes that a document has after [Parse]: aliases are still there.
const (
	Mapping  = yaml.MappingNode
	Sequence = yaml.SequenceNode
	Scalar   = yaml.ScalarNode
	Alias    = yaml.AliasNode
)

// The styles of nodes, as bits of Node.Style: how a scalar is written, whether a
// collection is in brackets, and whether a tag is written out.
const (
	DoubleQuoted = yaml.DoubleQuotedStyle
	SingleQuoted = yaml.SingleQuotedStyle
	Literal      = yaml.LiteralStyle
	Folded       = yaml.FoldedStyle
	Flow         = yaml.FlowStyle
	Tagged       = yaml.TaggedStyle
)

// Resolve follows an alias to the node it names.
func Resolve(n *Node) *Node {
	for n.Kind == Alias {
		n = n.Alias
	}
	return n
}

// WithoutTag returns a copy of a node without its tag; one in quotes stays a text.
func WithoutTag(n *Node) *Node {
	bare := *n
	bare.Tag, bare.Style = "", n.Style&^Tagged
	if bare.Kind == Scalar && n.Style&(DoubleQuoted|SingleQuoted|Literal|Folded) != 0 {
		bare.Tag = "!!str"
	}
	return &bare
}

// Walk goes down from n to the node that a JSON pointer names, with its key if it is a member of a map; if there
// is no such node, to the nearest one around it.
func Walk(n *Node, pointer string) (node, key *Node, found bool) {
	node = n
	for pointer != "" {
		token, rest, more := strings.Cut(pointer[1:], "/")
		pointer = ""
		if more {
			pointer = "/" + rest
		}
		name := value.Unescape(token)
		var next, nextKey *Node
		switch r := Resolve(node); r.Kind {
		case Mapping:
			for i := 0; i < len(r.Content) && next == nil; i += 2 {
				if k := Resolve(r.Content[i]); k.Kind == Scalar && k.Value == name {
					nextKey, next = r.Content[i], r.Content[i+1]
				}
			}
		case Sequence:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(r.Content) {
				next = r.Content[i]
			}
		}
		if next == nil {
			return node, key, false
		}
		node, key = next, nextKey
	}
	return node, key, true
}
