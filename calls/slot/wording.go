package slot

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%s: the answer holds no JSON object": "%s：回答中没有 JSON 对象",
	"%s：回答中没有 JSON 对象":                    "%s：回答中没有 JSON 对象",
	`current_schema: %w`:                  `current_schema：%w`,
	`of %d steps before this one, the model was not shown the first %d: history_tokens is %d`: `之前的 %d 个步骤中，最早的 %d 个未给模型看：history_tokens 为 %d`,
	`stages are %s`: `可用的阶段：%s`,
	`the data cannot be checked against current_schema: %w`:                                      `无法按 current_schema 检查数据：%w`,
	`the model was shown only the beginning of what the last step put out: history_tokens is %d`: `上一个步骤的输出只给模型看了开头：history_tokens 为 %d`,
	`the output is not read any more`:                                                            `输出已不再被读取`,
	`unknown stage %q`:                                                                           `未知的阶段 %q`,
})
