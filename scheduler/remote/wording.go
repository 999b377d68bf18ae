package remote

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%s has the version %s, and scheduler %s: they only work together with the same version": "%s 的版本是 %s，而 scheduler 是 %s：两者版本相同才能一起工作",
	"install both from one release, or name the right one with the setting temporal.program": "请从同一个发行版安装两者，或用设置 temporal.program 指明正确的程序",
	"one program asks, the other serves":                                                     "一个程序请求，另一个程序应答",
	"the program ended":                                                                      "程序已结束",
	"temporal.program: there is no program %s":                                               "temporal.program：没有程序 %s",
	"name %s, which is in the archive of the release":                                        "请指明 %s，它在发行版的压缩包中",
	"runs on Temporal need a second program, %s, which is not here":                          "在 Temporal 上运行需要第二个程序 %s，这里没有",
	"put it beside scheduler, from the same archive of the release or, of the sources, by make build-temporal; or name it with the setting temporal.program": "请把它放在 scheduler 旁边：取自同一个发行版的压缩包，或在源代码中用 make build-temporal 构建；或用设置 temporal.program 指明",
	"starting %s: %w":                          "启动 %s：%w",
	"is it the program %s of this version?":    "它是此版本的程序 %s 吗？",
	"asking %s: %w":                            "请求 %s：%w",
	"the next request starts it again":         "下一次请求会重新启动它",
	"the program was not opened":               "程序没有打开",
	"the program does not know the request %s": "程序不认识请求 %s",
})
