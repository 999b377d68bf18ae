package facts

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	`reading the facts: %w`: `读取事实：%w`,
})
