package input

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

func examples() []calls.Example {
	return []calls.Example{{
		Title: "A template of one's own: what is said in memory appears only where there is something",
		With: `config:
  context_template:
    - module_name: role
      segments: [{type: text, value: You answer questions about tea.}]
    - module_name: history
      segments:
        - {type: text, value: "So far:\n"}
        - {type: variable, value: short_term_history_content}
    - module_name: place
      importance_func: in_shop
      segments: [{type: text, value: "The customer stands in the shop at "}, {type: variable, value: address.city}, {type: text, value: "."}]
    - module_name: user_input
      segments: [{type: variable, value: current_user_input}]
variables:
  in_shop: true
  address: {city: Hangzhou}
memory:
  short_term:
    - {role: user, content: "Do you have green tea?"}
    - {role: assistant, content: "Yes, Longjing."}
  long_term: []
user_input: How hot should the water be?
`,
	}, {
		Title: "A config file with comments",
		With:  "config_path: prompt.jsonc\n",
		Vars:  &calls.Vars{Question: "明天呢？", Language: "zh", Resolved: map[string]value.Value{"weather": value.OfString("今天晴")}},
		Files: map[string]string{"prompt.jsonc": `{
    // 模块按顺序组成 prompt
    "context_template": [
        {"module_name": "weather", "segments": [{"type": "text", "value": "天气："}, {"type": "variable", "value": "weather"}]},
        {"module_name": "user_input", "segments": [{"type": "variable", "value": "current_user_input"}]},
    ],
    "settings": {"prompt_separator": "\n---\n"},
}
`},
	}}
}
