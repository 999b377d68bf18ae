package retrieve

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"it is not after since: no memory is from between the two": "它不晚于 since：两者之间没有记忆",
	`since: %w`: `since：%w`,
})
