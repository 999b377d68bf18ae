package preview

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"the flow has no step %q":           "流程没有步骤 %q",
	"the step %s runs another flow":     "步骤 %s 运行另一个流程",
	"open that flow to see its prompts": "请打开该流程查看其提示词",
	"the step %s (%s) builds no prompt": "步骤 %s（%s）不生成提示词",
	"put the cursor into a step that asks a model, or into one that builds messages for it":                                                                  "请把光标放到询问模型的步骤，或为其构造消息的步骤中",
	"the step %s may read files; for a token of a user, a preview reads those of a flow that is saved as it is, and none for a token that may not run flows": "步骤 %s 可能读取文件；使用绑定用户的令牌时，预览只读取已按原样保存的流程的文件；令牌不能运行流程时则不读取",
	"the step %s has no items with these values": "用这些取值时步骤 %s 没有列表项",
	"a preview does not run %s":                  "预览不运行 %s",
	"a preview asks no plugin":                   "预览不询问插件",
})
