package vector

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"a vector has %d numbers, want 1 to %d":            "向量有 %d 个数，应为 1 到 %d 个",
	"a vector has no direction: all its numbers are 0": "向量没有方向：所有数都是 0",
	"the number %d of a vector is %v":                  "向量的第 %d 个数是 %v",
})
