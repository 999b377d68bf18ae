package yaml

import (
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/jsonc"
)

// ParseFile reads the content of a file of that name: JSON, with comments or without, or YAML, by its extension;
// with any other, one text in UTF-8. Errors begin with the line and the column.
func ParseFile(name string, content []byte) (value.Value, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".jsonc":
		doc, err := jsonc.Parse(content)
		if err != nil {
			return value.Value{}, err
		}
		return doc.Value, nil
	case ".yaml", ".yml":
		return ParseValue(content)
	}
	text, err := value.DecodeText(content)
	if err != nil {
		return value.Value{}, err
	}
	return value.OfString(text), nil
}
