package llm

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"none of the providers answered: %s": "所有服务商都没有回答：%s",
})
