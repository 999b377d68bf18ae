package temporal

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"Temporal at %s gives no answer in time":     "%s 处的 Temporal 没有及时回答",
	"is it running, and not overloaded?":         "它在运行吗？是否过载？",
	"asking Temporal at %s: %w":                  "请求位于 %s 的 Temporal：%w",
	"Temporal does not know the run %s any more": "Temporal 已不认识运行 %s",
	"a payload cannot be decrypted: this machine has another key (setting temporal.payload_key_env)":                      "无法解密数据：本机的密钥不同（设置 temporal.payload_key_env）",
	"the workers of the queue %s have another key of payloads than this machine":                                          "队列 %s 的 worker 的数据密钥与本机的不同",
	"give all machines the same key, or none (setting temporal.payload_key_env)":                                          "请让所有机器使用相同的密钥，或都不用（设置 temporal.payload_key_env）",
	"an encrypted payload is too short":                                                                                   "加密的数据太短",
	"connecting to Temporal at %s: %w":                                                                                    "连接位于 %s 的 Temporal：%w",
	"find out why, then resume the run":                                                                                   "请查明原因，然后恢复该运行",
	"is a worker of the queue %s running? look at the run, and answer again":                                              "队列 %s 有 worker 在运行吗？请查看该运行，然后重新回答",
	"is it running? on one machine: temporal server start-dev":                                                            "它在运行吗？单机可用：temporal server start-dev",
	"no worker can carry the run out yet: %s":                                                                             "还没有 worker 能执行该运行：%s",
	"no worker can take the answer: %s":                                                                                   "没有 worker 能接受该回答：%s",
	"no worker could carry the run out: %s":                                                                               "没有 worker 能执行该运行：%s",
	"no worker has taken the answer in %s: whether it will is not known":                                                  "%s 内没有 worker 接受该回答：是否会被接受尚不清楚",
	"no worker is there for the queue %s: start one with scheduler worker --on temporal://%s --queue %[1]s":               "队列 %s 没有 worker：请用 scheduler worker --on temporal://%s --queue %[1]s 启动一个",
	"the workers of the queue %s have another journal than the one that the run is in (all machines need the same store)": "队列 %s 的 worker 用的日志与该运行所在的日志不同（所有机器需要同一个存储）",
	"registering the search attributes: %w":                                                                               "登记搜索属性：%w",
	"resume it":                                                                                                           "请恢复它",
	"start a worker that can, then resume the run":                                                                        "请启动能执行它的 worker，然后恢复该运行",
	"the answer for %s: %w":                                                                                               "%s 的回答：%w",
	"the key of payloads: %w":                                                                                             "数据的密钥：%w",
	"the run %s is at work: it does not wait for values now":                                                              "运行 %s 正在执行：现在不等待任何值",
	"the run has brought down several workers without a step that finished":                                               "该运行接连使多个 worker 崩溃，没有完成任何步骤",
})
