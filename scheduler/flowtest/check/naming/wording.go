package naming

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"no input of the flow fits %q":                               "流程没有与 %q 相符的输入",
	"the flow has no input %q":                                   "流程没有输入 %q",
	"no piece of the prompt can have the name %q":                "提示词的任何片段都不会叫 %q",
	"no text comes from %q: the variable has no %q":              "没有文本来自 %q：该变量没有 %q",
	"no text comes from %q: no step, tool or file has that name": "没有文本来自 %q：没有叫这个名字的步骤、工具或文件",
	"there is no kind %q of pieces":                              "没有 %q 这种片段",
	"the flow has no variable %q":                                "流程没有变量 %q",
	"there is no role %q":                                        "没有角色 %q",
	"%q is not a source":                                         "%q 不是来源",
})
