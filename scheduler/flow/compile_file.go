package flow

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/jsonc"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// fileValue returns the content of the file that a !file node names.
func (u *unit) fileValue(n *yaml.Node) value.Value {
	path := n.Value
	if n.Kind != yaml.Scalar || path == "" || prompt.HasTags(path) {
		u.add(u.positionOf(n), "!file wants the path of a file, without templates")
		return value.Value{}
	}
	full, root, inside := u.resolvePath(path)
	if !inside {
		u.add(u.positionOf(n), "!file %s leads out of %s", path, root).hint("keep the file beside the flow, or in a folder below it")
		return value.Value{}
	}
	content, err := u.loading.readBeside(root, full)
	if err != nil {
		u.problems = append(u.problems, unreadableProblem(u.positionOf(n), path, err))
		return value.Value{}
	}
	v, err := parseFile(path, content)
	if err != nil {
		u.add(u.positionOf(n), "%s:%v", path, err)
	}
	return v
}

// parseFile reads data by the file's extension; what is not JSON, JSONC or YAML is
// text. Errors begin with line and column.
func parseFile(path string, content []byte) (value.Value, error) {
	if len(content) > yaml.MaxBytes {
		return value.Value{}, wording.Errorf("1:1: the file has more than %d bytes", yaml.MaxBytes)
	}
	switch dataType(path) {
	case ".json", ".jsonc":
		doc, err := jsonc.Parse(content)
		if err != nil {
			return value.Value{}, err
		}
		return doc.Value, nil
	case ".yaml", ".yml":
		return yaml.ParseValue(content)
	}
	if i := invalidUTF8(content); i >= 0 {
		line, col := value.LineCol(string(content), i)
		return value.Value{}, wording.Errorf("%d:%d: the text is not UTF-8 here", line, col)
	}
	return value.OfString(strings.TrimPrefix(string(content), string(byteOrderMark))), nil
}
