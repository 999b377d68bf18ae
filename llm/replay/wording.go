package replay

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"no recording of %s in %s, and there is no such file; the request was:\n%s":  "%[2]s 中没有%[1]s的录制内容，该文件不存在；请求如下：\n%[3]s",
	"no recording of %s in %s, which is empty; the request was:\n%s":             "%[2]s 中没有%[1]s的录制内容，文件是空的；请求如下：\n%[3]s",
	"no recording of %s in %s, which has none of its kind; the request was:\n%s": "%[2]s 中没有%[1]s的录制内容，也没有同类的录制；请求如下：\n%[3]s",
	"no recording of %s in %s; the nearest is %s (- recorded, + asked):\n%s":     "%[2]s 中没有%[1]s的录制内容；最接近的是%[3]s（- 已录制，+ 本次请求）：\n%[4]s",
	"record it: run once with --record and a provider that can answer":           "请录制它：用能回答的服务商和 --record 运行一次",
	"this request":                         "此请求",
	"this request to %s":                   "发给 %s 的此请求",
	"recording %d":                         "第 %d 个录制",
	"recording %d of run %d":               "第 %[2]d 次运行的第 %[1]d 个录制",
	"no run with these inputs is recorded": "没有录制过使用这些输入的运行",
	"no run with these inputs is recorded in %s: the one that is has no conversation before it":          "%s 中没有录制过使用这些输入的运行：录制的那次之前没有对话",
	"no run with these inputs is recorded in %s: other inputs, or another conversation before them, are": "%s 中没有录制过使用这些输入的运行：录制的是其他输入，或之前的对话不同",
	"no run with these inputs is recorded for the user %q in %s: the user is another one there (%s)":     "%[2]s 中没有为用户 %[1]q 录制过使用这些输入的运行：那里是其他用户（%[3]s）",
	"the recorded run did not finish":                      "录制的运行没有结束",
	"the flow was edited after the run was recorded":       "录制之后流程被修改过",
	"%s: want a text, got %s":                              "%s：应为文本，实为 %s",
	"%s: want a time such as 2026-11-28T09:00:00Z, got %q": "%s：应为 2026-11-28T09:00:00Z 这样的时间，实为 %q",
	"seed: want a whole number, got %s":                    "seed：应为整数，实为 %s",
	"part: want a number from 0, got %s":                   "part：应为从 0 开始的数字，实为 %s",
	"ended: want true or false, got %s":                    "ended：应为 true 或 false，实为 %s",
	"/runs/%d: %w":                                         "/runs/%d：%w",
	"%s/%s: want an array, got %s":                         "%s/%s：应为数组，实为%s",
	"%s/recordings/%d: %w":                                 "%s/recordings/%d：%w",
	"secrets: %w":                                          "secrets：%w",
	"user_timezones: %w":                                   "user_timezones：%w",
	"models: %w":                                           "models：%w",
	"error: %w":                                            "error：%w",
	"want response, deltas or vectors for a model, and answer for other kinds": "模型应有 response、deltas 或 vectors，其他种类应有 answer",

	"writing the log of the recording: %w":                                   "写入录制日志：%w",
	"reading the log of the recording: %w":                                   "读取录制日志：%w",
	"%d recorded answers were not asked for, the first is %s of the step %s": "有 %d 个录制的回答没有用到，第一个是步骤 %[3]s 的%[2]s",
	"%w; %s": "%w；%s",
})
