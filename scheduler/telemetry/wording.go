package telemetry

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"%d spans could not be sent: %w":                         "%d 个 span 无法发送：%w",
	"invalid endpoint %q of traces (write http://HOST:4318)": "链路追踪的地址 %q 无效（写法如 http://HOST:4318）",
})
