package yaml

import (
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// Walk goes down from n to the node that a JSON pointer names, with its key
// where it is a member of a map; where there is no such node, to the nearest one
// around it.
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
