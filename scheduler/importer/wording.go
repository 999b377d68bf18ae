package importer

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%s is not the report of an import: %w":              "%s 不是导入的报告：%w",
	"the file %s is outside of the folder of the import": "文件 %s 在导入的文件夹之外",
	"nothing here takes it":                              "这里没有用到它",
})
