package result

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{"line %d: %w": "第 %d 行：%w"})
