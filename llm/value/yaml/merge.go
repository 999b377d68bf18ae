package yaml

import "github.com/callnode/scheduler/llm/value/wording"

// expandMerges replaces merge keys by the members that they name, for example <<: *base by the members of &base. A
// key that the mapping has itself wins, then the first mapping of a list. done are the nodes that need no further
// look: aliases lead to the same ones again.
func expandMerges(n *Node, done map[*Node]bool) error {
	n = Resolve(n)
	if done[n] {
		return nil
	}
	done[n] = true
	for _, c := range n.Content {
		if err := expandMerges(c, done); err != nil {
			return err
		}
	}
	if n.Kind != Mapping || !hasMergeKey(n) {
		return nil
	}
	var content []*Node
	own := keysOf(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		if !isMergeKey(key) {
			content = append(content, key, v)
			continue
		}
		merged, err := mergedMembers(v, own)
		if err != nil {
			return err
		}
		content = append(content, merged...)
	}
	n.Content = content
	return nil
}

func hasMergeKey(n *Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if isMergeKey(n.Content[i]) {
			return true
		}
	}
	return false
}

// mergedMembers returns the keys and values of the mappings that a merge key names, except keys in taken, which
// gets them.
func mergedMembers(v *Node, taken map[string]bool) (content []*Node, err error) {
	from := []*Node{v}
	if Resolve(v).Kind == Sequence {
		from = Resolve(v).Content
	}
	for _, one := range from {
		m := Resolve(one)
		if m.Kind != Mapping {
			return nil, newError(one.Line, one.Column, wording.Say("a merge key (<<) takes a map, or a list of maps"))
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			key := Resolve(m.Content[i])
			if taken[key.Value] {
				continue
			}
			taken[key.Value] = true
			content = append(content, m.Content[i], m.Content[i+1])
		}
	}
	return content, nil
}

// isMergeKey reports whether a node is << as a key. Quoted, it is a key of that name.
func isMergeKey(n *Node) bool { return n.Kind == Scalar && n.Tag == "!!merge" }

// keysOf returns the keys of a mapping itself.
func keysOf(n *Node) map[string]bool {
	keys := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		if key := Resolve(n.Content[i]); !isMergeKey(key) {
			keys[key.Value] = true
		}
	}
	return keys
}
