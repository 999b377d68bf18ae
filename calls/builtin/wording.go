package builtin

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%d memories were found":                               "检索到 %d 条记忆",
	"%d utterances before this one":                        "此前有 %d 条发言",
	"as its name says":                                     "如其名",
	"input and memory share %q":                            "输入与记忆都有 %q",
	"no memory was found":                                  "没有检索到记忆",
	"nothing was said before":                              "此前没有对话",
	"the input asks nothing":                               "输入不是提问",
	"the input begins with %q":                             "输入以 %q 开头",
	"the input has a question mark":                        "输入中有问号",
	"the input has nothing in common with what was before": "输入与此前的内容无关",
	"the input is empty":                                   "输入为空",
	"the input says %q":                                    "输入中有 %q",
	"the user said something":                              "用户有输入",
	"there is no variable %q":                              "没有变量 %q",
})
