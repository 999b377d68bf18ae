package scripted

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"/%s: the answer has %s already: give one of text, json and deltas": "/%s：回答中已有 %s：text、json 和 deltas 只能给出一个",
	"/%s: an answer with an error has no %s: take one of them out":      "/%s：带 error 的回答没有 %s：请去掉其中一个",
	"/%s: %s is less than 0":   "/%s：%s 小于 0",
	"/%d: want object, got %s": "/%d：应为对象，实际是%s",
	"/%d/name: the call has a function already: give name and arguments in it alone": "/%d/name：该调用已有 function：name 和 arguments 只写在其中",
	"/%d: the call names no tool: add a name":                                        "/%d：该调用没有写明工具：请加上 name",
	"%s/%s: unknown member%s":                                                        "%s/%s：未知的成员%s",
	"a scripted answer must be an object or a text, not %s":                          "脚本中的回答应为对象或文本，不能是%s",
	"the script is used up: it has %d answers, and this is another request":          "脚本已用完：其中有 %d 个回答，而这是又一个请求",
	"the scripted answers must be an array, not %s":                                  "脚本中的回答应为列表，不能是%s",
})
