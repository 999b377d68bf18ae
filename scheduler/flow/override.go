package flow

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// applyOverrides changes the tree of the outermost flow. Unknown steps are skipped: the caller checks their names.
func (u *unit) applyOverrides(root *yaml.Node) {
	if len(u.loading.stack) != 1 {
		return
	}
	for _, o := range u.loading.Overrides {
		steps, _, _ := yaml.Walk(root, "/steps")
		for _, s := range yaml.Resolve(steps).Content {
			if id, _, found := yaml.Walk(s, "/id"); found && yaml.Resolve(id).Value == o.Step {
				u.override(yaml.Resolve(s), slices.Concat([]string{"with"}, o.Path), o)
			}
		}
	}
}

// override sets the value at a path below a map, and makes the maps that are missing.
func (u *unit) override(n *yaml.Node, path []string, o Override) {
	if n.Kind != yaml.Mapping || ownTag(n) != "" {
		u.add(u.positionOf(n), "%s of step %q is not a map: nothing can be laid over it", path[0], o.Step)
		return
	}
	i := -1
	for at := 0; at+1 < len(n.Content); at += 2 {
		if yaml.Resolve(n.Content[at]).Value == path[0] {
			i = at + 1
		}
	}
	if i < 0 {
		key := &yaml.Node{Kind: yaml.Scalar, Tag: "!!str", Value: path[0], Line: n.Line, Column: n.Column}
		n.Content = append(n.Content, key, &yaml.Node{Kind: yaml.Mapping, Tag: "!!map", Line: n.Line, Column: n.Column})
		i = len(n.Content) - 1
	}
	if len(path) > 1 {
		inner := *yaml.Resolve(n.Content[i]) // other uses of an alias are not changed
		inner.Content = slices.Clone(inner.Content)
		n.Content[i] = &inner
		u.override(&inner, path[1:], o)
		return
	}
	laid, err := valueNode(o.Value, n.Content[i])
	if err != nil {
		u.add(u.positionOf(n.Content[i]), "%v", err)
		return
	}
	n.Content[i] = laid
}

// valueNode returns the node of a value at the place of another.
func valueNode(v value.Value, at *yaml.Node) (*yaml.Node, error) {
	list, err := yaml.Parse([]byte("[" + v.JSON() + "]")) // a text alone would be read as YAML, which lacks some characters
	if err != nil {
		return nil, err
	}
	n := list.Content[0]
	placeAll(n, at)
	return n, nil
}

func placeAll(n, at *yaml.Node) {
	n.Line, n.Column = at.Line, at.Column
	for _, c := range n.Content {
		placeAll(c, at)
	}
}
