package span

import (
	_ "embed"

	"github.com/callnode/scheduler/llm/value/wording"
)

// messagesInChinese has the messages by their English formats.
//
//go:embed lang/zh.json
var messagesInChinese string

var _ = wording.AddFile(messagesInChinese)
