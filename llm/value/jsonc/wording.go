package jsonc

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"nested too deep":         "嵌套太深",
	"the text ends too early": "文本提前结束",
	"the text is empty":       "文本为空",
})
