package chat

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"a message must be an object {role, content}, not null":                              "消息必须是 {role, content} 对象，不能是 null",
	"function.name is missing":                                                           "缺少 function.name",
	"give %s as one of the messages, {role: %s, content: ...}, or leave messages out":    "请把 %s 写成一条消息 {role: %s, content: ...}，或去掉 messages",
	"the %s message has no content":                                                      "%s 消息没有 content",
	"the arguments of the tool call %s (%s) are not JSON":                                "工具调用 %s（%s）的参数不是 JSON",
	"the content is of type %s, want text or a list of parts":                            "content 的类型是 %s，应为文本或片段列表",
	"the message has no role":                                                            "消息没有 role",
	"the model refused to answer: %s":                                                    "模型拒绝回答：%s",
	"ask for it in other words, or ask another model":                                    "请换一种说法，或换一个模型",
	"the model gave no text":                                                             "模型没有给出文本",
	"the type is missing":                                                                "缺少类型",
	"unknown role %q (%s)":                                                               "未知的 role %q（%s）",
	`%d of the messages have the role thinking and were left out: models do not take it`: `%d 条消息的角色是 thinking，已略去：模型不接受`,
	`a model needs at least one message`:                                                 `模型至少需要一条消息`,
	`a tool is {type: function, function: {name, description, parameters}}`:              `工具的格式为 {type: function, function: {name, description, parameters}}`,
	`give messages, or user with or without system`:                                      `请给出 messages，或给出 user（system 可选）`,
	`let the step retry, or tell the model in its instructions what to answer`:           `让该步骤重试，或在指令中告诉模型应如何回答`,
	`messages is empty`:                                                                  `messages 为空`,
	`messages/%d: %s`:                                                                    `messages/%d：%s`,
	`response_schema: %w`:                                                                `response_schema：%w`,
	`the answer does not fit response_schema: %w`:                                        `回答不符合 response_schema：%w`,
	`there is nothing to say: messages is not given, and user is empty`:                  `没有可发送的内容：未给出 messages，且 user 为空`,
})
