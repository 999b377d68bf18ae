package flow

import "github.com/callnode/scheduler/llm/value/wording"

// Text returns what the key is for, in the built-in languages.
func (k KeyDoc) Text() wording.Text {
	zh, ok := chineseKeys[k.Doc]
	if !ok {
		return wording.Same(k.Doc)
	}
	return wording.Text{En: k.Doc, Zh: zh}
}

// TypeText returns the type of the key's value in the built-in languages.
func (k KeyDoc) TypeText() wording.Text { return wording.Of(k.Type) }

// chineseKeys are the docs of keys in Chinese by the English ones, in the order of the keys.
var chineseKeys = map[string]string{
	"The flow's name; the name of its file where it is left out.":                                                                            "流程的名称；不写时为其文件名。",
	"What the flow does, for people and for models that choose a flow.":                                                                      "流程的用途，供人阅读，也供模型选择流程。",
	"The language of built-in prompts and messages: zh, en, or one that is configured.":                                                      "内置提示词和消息的语言：zh、en，或配置中的语言。",
	"A JSON Schema (draft 7) of the inputs, an object. Inputs are checked against it, and its defaults applied, before the first step.":      "输入的 JSON Schema（draft 7），为对象。在第一个步骤之前检查输入并填入默认值。",
	"Whose memory the memory calls of the flow work in.":                                                                                     "流程的记忆调用使用谁的记忆。",
	"The person whose memory it is; a template over inputs.":                                                                                 "记忆所属的人；使用输入的模板。",
	"The conversation within it; a template over inputs.":                                                                                    "其中的会话；使用输入的模板。",
	"The names of the plugins that the flow needs.":                                                                                          "流程所需插件的名称。",
	"The name of the model provider; the configuration decides where it is left out.":                                                        "模型服务商的名称；不写时由配置决定。",
	"What holds for every step that does not say otherwise.":                                                                                 "对未另行设置的每个步骤都有效的设置。",
	"The longest that one attempt of a step may take, such as 30s.":                                                                          "步骤的一次尝试最长可用的时间，例如 30s。",
	"How failed steps are tried again.":                                                                                                      "失败的步骤如何重试。",
	"How often a step is tried, the first time included. Default 3.":                                                                         "步骤尝试的次数，含第一次。默认为 3。",
	"The pause before the second attempt. Default 500ms.":                                                                                    "第二次尝试之前的等待时间。默认为 500ms。",
	"How much longer each further pause is, at least 1. Default 2.":                                                                          "之后每次等待延长的倍数，至少为 1。默认为 2。",
	"The longest pause. Default 10s.":                                                                                                        "最长的等待时间。默认为 10s。",
	"The queue of the workers that carry runs of the flow out on other machines (--on); a step that runs the flow gives it to them as well.": "在其他机器上执行流程运行的 worker 的队列（--on）；运行该流程的步骤也交给它们。",
	"Limits of the whole run.":                                                                                                               "整个运行的限制。",
	"The most tokens that the models may use in a run.":                                                                                      "一次运行中模型最多可用的 token 数。",
	"What starts runs of the flow by itself while scheduler serve runs.":                                                                     "scheduler serve 运行期间，自动启动流程运行的条件。",
	"Times at which a run starts.":                                                                                                           "启动运行的时间。",
	"The name of the schedule in the flow.":                                                                                                  "定时在流程中的名称。",
	"Five fields, minute hour day month weekday, or @hourly, @daily, @weekly, @monthly, @yearly.":                                            "五个字段：分 时 日 月 星期，或 @hourly、@daily、@weekly、@monthly、@yearly。",
	"The time zone of the fields, as Asia/Shanghai. Default UTC.":                                                                            "各字段所用的时区，例如 Asia/Shanghai。默认为 UTC。",
	"The inputs of the run; templates know schedule.id and schedule.time.":                                                                   "运行的输入；模板中可用 schedule.id 和 schedule.time。",
	"The user whose runs those are: run.user. They reach only that user's memory.":                                                           "这些运行属于哪个用户：run.user。它们只能访问该用户的记忆。",
	"What happens while the run of an earlier fire is not over. skip: no run. queue: a run when it is over. parallel: a run at once. cancel: that one is cancelled. Default skip.": "前一次触发的运行尚未结束时如何处理。skip：不运行。queue：等它结束后运行。parallel：立即运行。cancel：取消前一个。默认为 skip。",
	"Which fires of the last 24 hours are made up for that no server was there to see: none, the last, or all, at most 100. Default last.":                                         "最近 24 小时内因没有服务器而错过的触发，补上哪些：不补、最后一次，或全部（最多 100 次）。默认为 last。",
	"A fire begins up to so much later, so that not all schedules begin at once.":                                                                                                  "触发最多推迟这么久，使各定时不会同时开始。",
	"Requests that start a run: POST /hooks/FLOW/ID.":                                                                                                                              "启动运行的请求：POST /hooks/FLOW/ID。",
	"The name of the webhook in its path.": "webhook 在其路径中的名称。",
	"How a request proves who sent it. standard: the signature of Standard Webhooks. github: X-Hub-Signature-256. header: the secret itself in a header. none: it need not.": "请求如何证明其发送者。standard：Standard Webhooks 的签名。github：X-Hub-Signature-256。header：在请求头中写明密钥本身。none：不需要。",
	"The header that holds the secret, with verify: header. Default X-Webhook-Token.":                                                                                        "verify: header 时，含有密钥的请求头。默认为 X-Webhook-Token。",
	"The name of the secret, one of the setting secrets.":                                                                                                                    "密钥的名称，为设置 secrets 之一。",
	"The inputs of the run; templates know webhook.body.text, webhook.body.json, webhook.headers.NAME in lower case and webhook.query.NAME.":                                 "运行的输入；模板中可用 webhook.body.text、webhook.body.json、小写的 webhook.headers.NAME 和 webhook.query.NAME。",
	"The steps. Without needs a step comes after the one before it.":                                                                                                         "各步骤。没有写 needs 的步骤排在前一个步骤之后。",
	"The name by which other steps use its output.":                                                                                                                          "其他步骤引用其输出时所用的名称。",
	"What the step does: the name of a call; those of plugins are plugin.call.":                                                                                              "步骤做什么：调用的名称；插件的调用为 plugin.call。",
	"A title for people.":   "供人阅读的标题。",
	"What the step is for.": "步骤的用途。",
	"The steps that must be over before it. Left out: the step before. []: it starts at once.":                                                                           "必须先结束的步骤。不写：前一个步骤。[]：立即开始。",
	"One {{ expression }}; the step is skipped where it is not true.":                                                                                                    "一个 {{ 表达式 }}；不为真时跳过该步骤。",
	"A list, or one {{ expression }} that gives one: the step runs once for each, with item and index in scope, and its output is the list of outputs.":                  "列表，或一个得到列表的 {{ 表达式 }}：步骤对每一项各运行一次，可使用 item 和 index，其输出为各次输出的列表。",
	"How many items of for_each run at a time.":                                                                                                                          "for_each 同时运行多少项。",
	"With call: flow, in a run on other machines (--on): the flow is a run of its own, which a worker of this queue carries out. Other runs do it in their own process.": "call: flow 且运行在其他机器上时（--on）：该流程是单独的运行，由此队列的 worker 执行。其他运行在自己的进程中执行。",
	"The parameters of the call. Texts are templates; one whole {{ expression }} keeps its type.":                                                                        "调用的参数。文本是模板；整个为一个 {{ 表达式 }} 的保持其类型。",
	"Fill missing parameters from the conversation before the call runs.":                                                                                                "调用运行之前，从对话中填充缺少的参数。",
	"JSON Schemas of parameters, by name, that filling uses in place of the call's own.":                                                                                 "填充时代替调用自身 schema 的参数 JSON Schema，按名称。",
	"What to do when required values stay unknown. Default ask: the run waits for them.":                                                                                 "必填的值仍未知时如何处理。默认为 ask：运行等待这些值。",
	"Stream the text of the step to the user.":                                                                                                                           "把步骤的文本以流的方式发给用户。",
	"The longest that one attempt may take, such as 30s.":                                                                                                                "一次尝试最长可用的时间，例如 30s。",
	"How the step is tried again when a provider, a plugin or the time fails it.":                                                                                        "服务商、插件或时间使步骤失败时，如何重试。",
	"continue makes a failure the output {error: {kind, message}}. Default fail: the run ends.":                                                                          "continue 使失败成为输出 {error: {kind, message}}。默认为 fail：运行结束。",
	"What the run gives back: a map of templates over inputs and the steps' outputs.":                                                                                    "运行返回的内容：使用输入和步骤输出的模板的映射。",
	"The reply when the run fails: a template over error (kind, message, hint, step).":                                                                                   "运行失败时的回复：使用 error（kind、message、hint、step）的模板。",
}
