package userpath

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"expanding ~: %w": "展开 ~：%w",
})
