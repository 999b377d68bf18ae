package endpoint

import (
	"strings"

	"github.com/callnode/scheduler/llm"
)

// failed is in finishReasons for the words of an answer that broke off by a fault of the server.
const failed = "failed"

// finishReasons are the vendors' words for the end of an answer, in lower case, and the reason
// that all providers have for it. Gateways pass on the words of the vendor behind them, so
// every API may send any of them.
var finishReasons = map[string]string{
	// OpenAI, and most that are compatible with it.
	"stop": llm.FinishStop, "length": llm.FinishLength, "content_filter": llm.FinishContentFilter,
	"tool_calls": llm.FinishToolCalls, "function_call": llm.FinishToolCalls, "max_output_tokens": llm.FinishLength,
	// Anthropic.
	"end_turn": llm.FinishStop, "stop_sequence": llm.FinishStop, "tool_use": llm.FinishToolCalls, "refusal": llm.FinishContentFilter,
	"max_tokens": llm.FinishLength, "model_context_window_exceeded": llm.FinishLength,
	// Gemini.
	"safety": llm.FinishContentFilter, "recitation": llm.FinishContentFilter, "blocklist": llm.FinishContentFilter,
	"prohibited_content": llm.FinishContentFilter, "spii": llm.FinishContentFilter, "malformed_function_call": failed,
	// Mistral, Cohere, Hugging Face.
	"model_length": llm.FinishLength, "complete": llm.FinishStop, "eos_token": llm.FinishStop, "eos": llm.FinishStop,
	"error_toxic": llm.FinishContentFilter, "error_limit": llm.FinishLength,
	// GLM, DeepSeek, OpenRouter, vLLM.
	"sensitive": llm.FinishContentFilter, "network_error": failed, "insufficient_system_resource": failed,
	"error": failed, "abort": failed,
}

// FinishReason returns the [llm.Delta.FinishReason] for a vendor's word; an unknown word is returned as it is. A
// word for a fault of the server gives an error, which another try may not meet: half an answer is not an answer.
func FinishReason(word string) (string, error) {
	reason, ok := finishReasons[strings.ToLower(word)]
	switch {
	case !ok:
		return word, nil
	case reason == failed:
		return "", Incomplete("the server broke the answer off: %s", word)
	}
	return reason, nil
}
