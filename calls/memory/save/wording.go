package save

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	"write %s":  "请写 %s",
	keptAsOther: "%q 只作为记忆的其他信息保存：它并不指定 %s",
	"it is empty: there is nothing to remember": "它是空的：没有可记的内容",
	`a flow saves memories of its own user: write memory: {user: "{{ run.user }}"} in the flow, or leave out user_id`: `流程只能保存自己用户的记忆：请在流程中写 memory: {user: "{{ run.user }}"}，或去掉 user_id`,
	`context.user_id is %q, but the user of the flow is %q`:                                                           `context.user_id 是 %q，但流程的用户是 %q`,
	`reading the memory: %w`: `读取记忆：%w`,
})
