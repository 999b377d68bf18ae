package check

import (
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/linediff"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// diffValues shows what differs between what was wanted and what there is; "" for short values, which a
// message shows whole.
func diffValues(want, got value.Value) string {
	a, b := linesOf(want), linesOf(got)
	if len(a) < 2 && len(b) < 2 {
		return ""
	}
	return linediff.Show(a, b)
}

// linesOf returns a text, or a value as YAML, as lines.
func linesOf(v value.Value) []string {
	text, ok := v.Str()
	if !ok {
		text = string(yaml.Append(nil, v))
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
