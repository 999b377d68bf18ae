package summary

import "github.com/callnode/scheduler/llm/value/wording"

// The messages by their English formats.
var _ = wording.Add(wording.Catalog{
	`let the step retry, raise max_tokens, or ask another model`: `让该步骤重试、调大 max_tokens，或换一个模型`,
	`the model gave no summary`:                                  `模型没有给出摘要`,
})
