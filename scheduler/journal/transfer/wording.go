package transfer

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"both are the same journal: nothing was copied":                                                       "两者是同一个日志：没有复制任何内容",
	"it went on in one of them; delete it where it is not wanted with runs prune %s, and copy again":      "它在其中一处继续运行过；请在不需要的一处用 runs prune %s 删除它，再重新复制",
	"the other journal has a run %s that is not the same: it is %s with %d events there, %s with %d here": "另一个日志中的运行 %s 与此处不同：那里是 %s，有 %d 个事件；此处是 %s，有 %d 个事件",
	"the run %s has changed meanwhile: copy again":                                                        "运行 %s 在此期间有变化：请重新复制",
})
