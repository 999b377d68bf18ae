package explain

import (
	"cmp"

	"github.com/callnode/scheduler/llm/value/wording"
)

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"it ran for several items: name one, as in %s":        "它为多个项运行过：请指明一个，例如 %s",
	"it ran steps of its own: name one, as in %s":         "它运行过自己的步骤：请指明一个，例如 %s",
	"the run has no step %q":                              "运行没有步骤 %q",
	"the step %s (%s) asked no model and built no prompt": "步骤 %s（%s）没有询问模型，也没有生成提示词",
	"the step %s has not run yet":                         "步骤 %s 还没有运行",
	"the step %s did not run":                             "步骤 %s 没有运行",
	"the step %s was skipped: %s":                         "步骤 %s 已跳过：%s",
	"there is no single step %s":                          "没有唯一的步骤 %s",
	"file %s":                                             "文件 %s",
	"file %s (%s)":                                        "文件 %s（%s）",
	"the model's answer":                                  "模型的回答",
	"the tool %s":                                         "工具 %s",
	"the memory %s":                                       "记忆 %s",
	"the user's answer":                                   "用户的回答",
	"the text %s":                                         "文本 %s",
	"the clock of the run":                                "运行的时钟",
	"the parameters of %s (%s)":                           "%s 的参数（%s）",
	"%s computed from %s":                                 "%s 由 %s 计算",
	"%s (computed)":                                       "%s（计算得出）",
	"%s: %s":                                              "%s：%s",
	"%s: %s %s":                                           "%s：%s %s",
})

// PartName returns the name of a kind of part in both languages, for example "history" and "历史".
func PartName(kind string) wording.Text {
	return wording.Text{En: kind, Zh: cmp.Or(chineseParts[kind], kind)}
}

// chineseParts has the names of the kinds of parts. They are not in the catalog, for keys of
// flows have the same names.
var chineseParts = map[string]string{
	"file":        "文件",
	"history":     "历史",
	"identity":    "身份",
	"recalled":    "召回的记忆",
	"separator":   "分隔符",
	"heading":     "标题",
	"skill":       "技能",
	"skill_entry": "技能条目",
	"runtime":     "运行环境",
	"message":     "消息",
	"image":       "图片",
	"memory":      "记忆",
	"module":      "模块",
	"preset":      "预设",
	"world_book":  "世界书",
	"text":        "文本",
	"messages":    "消息",
}
