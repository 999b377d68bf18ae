package wire

import "github.com/callnode/scheduler/llm/value/wording"

// The messages of this package in Chinese.
var _ = wording.Add(wording.Catalog{
	"the settings of its project were not read: go to its folder, or add --config %s":                 "没有读取它所在项目的设置：请进入该文件夹，或加上 --config %s",
	"answers can be read in Temporal (temporal.payload_key_env names the key that encrypts them)":     "在 Temporal 中可以读到回答（用 temporal.payload_key_env 指明加密的密钥）",
	"the journal is a file in %s, which other machines do not have (all of them need the same store)": "日志是 %s 中的文件，其他机器没有它（所有机器需要同一个存储）",
	"run scheduler test calibrate --record to record it":                                              "请运行 scheduler test calibrate --record 来录制",
	"serve.otlp.headers_env: the environment variable %s is not set":                                  "serve.otlp.headers_env：环境变量 %s 没有设置",
	"serve.otlp: %w": "serve.otlp：%w",
	"%s: the step %s asks a model, but no model provider is configured":                                                                                                 "%s：步骤 %s 要询问模型，但没有配置模型服务商",
	"keep one of them: scheduler plugins untrust NAME takes the other out of %s":                                                                                        "请只保留一个：scheduler plugins untrust NAME 把另一个移出 %s",
	"opening the memory store: %w":                                                                                                                                      "打开记忆库：%w",
	"run with --record and a provider (llm.providers in the settings) to record it":                                                                                     "请用 --record 和一个服务商（设置中的 llm.providers）运行以记录它",
	"set llm.providers in scheduler.yaml, run with --llm echo, or keep a cassette beside the flow":                                                                      "请在 scheduler.yaml 中设置 llm.providers，用 --llm echo 运行，或在流程旁放一个 cassette",
	"give the inputs, the user and the conversation of a recorded run, or run with --record to record this one":                                                         "请给出已录制运行的输入、用户和对话，或用 --record 运行以录制这一次",
	"the answers to %s held a secret, and %s has [secret] in its place: a condition on it, or on the length of the answer, may go another way than in the recorded run": "给 %s 的回答里有密钥，%s 中以 [secret] 代替：针对它或回答长度的条件，可能与录制时走不同的分支",
	"the built-in calls: %w":                                                    "内置的 call：%w",
	"the lock file of MCP servers: %w":                                          "MCP 服务器的锁文件：%w",
	"the lock file of plugins: %w":                                              "插件的锁文件：%w",
	"the provider %q has no embeddings (name one of another type)":              "服务商 %q 没有向量（请指明其他类型的服务商）",
	"there is no model provider %q%s: llm.providers in the settings lists them": "没有模型服务商 %q%s：设置中的 llm.providers 列出了所有服务商",
	"no model provider is configured; answers come from the recorded %s":        "没有配置模型服务商；回答来自录制的 %s",
	"the setting languages: %v":                                                 "设置 languages：%v",
	"the run is carried out on %s, which this program does not know":            "该运行在 %s 上执行，本程序不认识它",
})
