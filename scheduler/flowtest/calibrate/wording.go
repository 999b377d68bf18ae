package calibrate

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"line %d: %w":         "第 %d 行：%w",
	"there are no labels": "没有标注",
	"write a line for each answer: {\"text\": \"...\", \"pass\": true}": "请为每个回答写一行：{\"text\": \"...\", \"pass\": true}",
	"pass is missing: write true or false, as people found it":          "缺少 pass：请按人的判断写 true 或 false",
	"judge: %s":                             "评判：%s",
	"line %d: there is nothing to judge by": "第 %d 行：没有评判依据",
	"add \"judge\": {\"criteria\": [...]} to the line, or --criterion": "请在该行加上 \"judge\": {\"criteria\": [...]}，或用 --criterion",
	"%s is not a file of calibrations: %w":                             "%s 不是校准文件：%w",
})
