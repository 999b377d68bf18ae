package scripted

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%s/%s: unknown member%s":                                               "%s/%s：未知的成员%s",
	"a scripted answer must be an object or a text, not %s":                 "脚本中的回答应为对象或文本，不能是%s",
	"the script is used up: it has %d answers, and this is another request": "脚本已用完：其中有 %d 个回答，而这是又一个请求",
	"the scripted answers must be an array, not %s":                         "脚本中的回答应为列表，不能是%s",
})
