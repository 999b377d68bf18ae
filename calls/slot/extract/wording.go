package extract

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"the text is not another notation of JSON": "此文本不是 JSON 的其他写法",
})
