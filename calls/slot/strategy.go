package slot

import (
	"context"
)

// builtInStrategies returns the built-in ways of filling, by the names that stages list. A new
// one adds its line here.
func builtInStrategies() map[string]Strategy {
	return map[string]Strategy{
		"llm":      fillByText,
		"function": fillBySchema,
		"default":  fillByDefault,
	}
}

// fillByDefault takes the defaults of the schema. Where there is any stage it is
// the last one, named or not.
func fillByDefault(_ context.Context, w *Work) error {
	w.Filling.ApplyDefaults()
	return nil
}
