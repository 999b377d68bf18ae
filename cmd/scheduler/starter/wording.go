package starter

import "github.com/callnode/scheduler/llm/value/wording"

// The summaries of templates by their English texts.
var _ = wording.Add(wording.Catalog{
	"one question, one answer":                                            "一问一答",
	"a chat that remembers its users":                                     "记住用户的聊天",
	"a role play with a lorebook":                                         "带世界书的角色扮演",
	"a support desk: asks for the order number, looks orders up, refunds": "客服台：询问订单号，查订单，退款",
})
