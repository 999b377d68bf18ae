package sqlite

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%w: its index is wrong":                "%w：其索引有误",
	"creating a temporary memory store: %w": "创建临时记忆库：%w",
	"done":                                  "完成",
	"memories of an older version are indexed again": "旧版本的记忆正在重建索引",
	"the beginning of the file is destroyed, so nothing of it can be read: move it away, and import an export or the mirror":      "文件的开头已毁坏，无法读出任何内容：请移走它，再导入导出的目录或镜像",
	"the file is damaged: save what can be read with `scheduler memory export --salvage DIR`, move the file away, and import DIR": "文件已损坏：请用 `scheduler memory export --salvage DIR` 保存能读出的内容，移走该文件，再导入 DIR",
})
