package flow

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	`the inputs of the flow %s: %w`: `流程 %s 的输入：%w`,
})
