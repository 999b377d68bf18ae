package explain

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"it ran for several items: name one, as in %s":        "它为多个项运行过：请指明一个，例如 %s",
	"it ran steps of its own: name one, as in %s":         "它运行过自己的步骤：请指明一个，例如 %s",
	"the run has no step %q":                              "运行没有步骤 %q",
	"the step %s (%s) asked no model and built no prompt": "步骤 %s（%s）没有询问模型，也没有生成提示词",
	"the step %s has not run yet":                         "步骤 %s 还没有运行",
	"the step %s was skipped: %s":                         "步骤 %s 已跳过：%s",
	"there is no single step %s":                          "没有唯一的步骤 %s",
})
