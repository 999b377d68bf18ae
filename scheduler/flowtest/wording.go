package flowtest

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"pass cannot be met with %d repeats, even where all of them pass":             "即使全部通过，重复 %d 次也无法满足 pass",
	"%s: the answer does not fit: %w":                                             "%s：回答不合适：%w",
	"%s: the mock does not fit the output of the call %s: %w":                     "%s：模拟值不符合调用 %s 的输出：%w",
	"%s: the mock has %d values, and %s asks for number %d":                       "%s：模拟有 %d 个值，而 %s 要第 %d 个",
	"a request to %s is not allowed in a test":                                    "测试中不允许向 %s 发送请求",
	"add an answer for each request, in their order":                              "请按顺序为每个请求加一个回答",
	"add mocks: {%s: {...}} to the case, or allow: [%s]":                          "请在用例中加上 mocks: {%s: {...}}，或 allow: [%s]",
	"add one for each attempt or item, or give one value instead of a list":       "请为每次尝试或每个条目各加一个，或用单个值代替列表",
	"another case of the file says only":                                          "此文件中另有用例写了 only",
	"go on with --rerun errors":                                                   "用 --rerun errors 继续",
	"llm: %w":                                                                     "llm：%w",
	"mock the step that sends it, or add allow: [http] to the case":               "请模拟发送它的步骤，或在用例中加上 allow: [http]",
	"no model provider is configured, and %d cassettes are beside the test file":  "未配置模型提供方，而测试文件旁有 %d 个录音文件",
	"what the models cost is not known, so that the limit of %.4f cannot be held": "不知道模型的费用，无法遵守 %.4f 的上限",
	"give llm.providers[].prices in the settings, or limit tokens instead":        "请在设置中填写 llm.providers[].prices，或改为限制 token 数",
	"not run to its end: the tests have cost %.4f, and may cost %.4f":             "未运行完：测试已花费 %.4f，上限为 %.4f",
	"not run to its end: the tests have taken %s, as long as they may":            "未运行完：测试已用 %s，达到上限",
	"not run to its end: the tests have used %d tokens, and may use %d":           "未运行完：测试已用 %d 个 token，上限为 %d",
	"raise its timeout":                         "请调大其 timeout",
	"raise the limits, or run fewer cases":      "请调高上限，或少运行一些用例",
	"run scheduler test --record to record it":  "请用 scheduler test --record 录制",
	"scheduler calls %s shows what it puts out": "scheduler calls %s 可查看它的输出",
	"set llm.default in the settings, name one with llm: NAME, or stop before the model with until: STEP": "请在设置中写 llm.default，用 llm: NAME 指定，或用 until: STEP 在模型之前停下",
	"the case %q: %w":                                       "用例 %q：%w",
	"the case took longer than %s":                          "用例用时超过 %s",
	"the run asks a model %d times, and llm has %d answers": "运行询问模型 %d 次，而 llm 有 %d 个回答",
	"the step %s runs %s, which may change the world, and a test does not let it": "步骤 %s 运行 %s，它可能改变外部世界，测试不允许",
	"the tests were interrupted: %w":                                              "测试被中断：%w",
	"the time of the case is over":                                                "用例的时间已用完",
	"there is no case %q to compare with":                                         "没有可以比较的用例 %q",
})
