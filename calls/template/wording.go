package template

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"give it under values":              "请在 values 中给出",
	"no value is given for the name %q": "没有给出名称 %q 的值",
})
