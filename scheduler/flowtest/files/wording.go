package files

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"it is outside of the project": "它在项目之外",
	"its path is absolute":         "其路径是绝对路径",
	"keep the file in the project, and write its path from the test file on": "请把文件放在项目中，并写出从测试文件起的路径",
})
