package ask

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"the model gave no usable answer":                                     "模型没有给出可用的回答",
	"the text is a Go template, but texts are templates as in flows":      "此文本是 Go 模板，而文本应使用与流程相同的模板",
	"the vendor drops messages that the record of the run shows as sent":  "服务商会丢弃运行记录中显示为已发送的消息",
	"cut the history in the flow, for example with max_tokens of context": "请在流程中裁剪历史，例如用 context 的 max_tokens",
	"the answer ended with the unknown reason %q: it may be incomplete":   "回答以未知的原因 %q 结束，可能不完整",
	"the vendor's content filter cut the answer":                          "服务商的内容过滤截断了回答",
	"the answer was cut at the limit of tokens: raise %s":                 "回答因达到 token 上限被截断：请调大 %s",
	"there is no JSON in it":                                              "其中没有 JSON",
	"write {{ name }} for {{.Name}}, {% if name %}...{% endif %} for {{if .Name}}...{{end}}, {% for x in names %}...{% endfor %} for {{range .Names}}...{{end}}": "{{.Name}} 请写成 {{ name }}，{{if .Name}}...{{end}} 写成 {% if name %}...{% endif %}，{{range .Names}}...{{end}} 写成 {% for x in names %}...{% endfor %}",
	`%w in %d trials: %w`:                      `%w（尝试 %d 次）：%w`,
	`leave it out`:                             `请去掉它`,
	`let the step retry, or ask another model`: `让该步骤重试，或换一个模型`,
	`messages are {role, content}; for anything else there is text`:                             `消息的格式为 {role, content}；其他内容请用 text`,
	`the content is of type %s, want text or a list of parts`:                                   `content 的类型是 %s，应为文本或片段列表`,
	`the message has no content`:                                                                `消息没有 content`,
	`of %d messages before the question, the oldest %d were not shown: %d tokens are the limit`: `问题之前的 %d 条消息中，最旧的 %d 条未给模型看：上限为 %d 个 token`,
	`of %d entries, the oldest %d were not read: max_input_tokens is %d`:                        `共 %d 条，最早的 %d 条未读取：max_input_tokens 为 %d`,
	`only the beginning of the newest entry was read: max_input_tokens is %d`:                   `最新一条只读取了开头：max_input_tokens 为 %d`,
	`the call makes this member of the request itself: extra cannot replace it`:                 `请求中的此成员由调用自身生成：不能用 extra 替换`,
	`use the parameter %s`: `请使用参数 %s`,
})
