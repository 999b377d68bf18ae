package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// Tools have the names that the model sees, and list the calls that they run.
func TestListTools(t *testing.T) {
	for params, want := range map[string]string{
		`{}`:             "true",
		`{tools: null}`:  "false",
		`{tools: {}}`:    "true",
		`{workspace: .}`: "read_file own, read_skill own maybe, true",
		`{tools: {flows: [{path: "a/place order.yaml"}, {path: 'sub\pay.yaml'}, {path: b.yaml, name: buy}]}}`: "place_order flow /tools/flows/0, pay flow /tools/flows/1, buy flow /tools/flows/2, true",
		`{tools: {calls: [{call: shop.order}, {call: template, name: greet}]}}`:                               "shop_order shop.order /tools/calls/0, greet template /tools/calls/1, true",
		`{tools: {http: [{with: {operation: "get price/v1"}}, {name: stock, with: {url: "https://a.b"}}]}}`:   "get_price_v1 http /tools/http/0, stock http /tools/http/1, true",
		`{tools: {mcp: [{server: git.hub, tools: [search.issues, read]}]}}`:                                   "git_hub_search_issues mcp.git.hub.search.issues /tools/mcp/0, git_hub_read mcp.git.hub.read /tools/mcp/0, true",
		`{tools: {mcp: [{server: github, tools: [null]}], calls: [{call: template}]}}`:                        "template template /tools/calls/0, false",
		`{tools: {calls: [{call: template, name: null}]}}`:                                                    "false",
		`{tools: {calls: null}}`: "false",
	} {
		v, err := yaml.ParseValue([]byte(params))
		if err != nil {
			t.Fatal(err)
		}
		tools, isWhole := agent.Definition().Tools(v)
		var got strings.Builder
		for _, tool := range tools {
			got.WriteString(tool.Name)
			for _, word := range []string{map[bool]string{true: "own"}[tool.IsOwn], map[bool]string{true: "maybe"}[tool.Maybe], tool.Call, tool.Pointer} {
				if word != "" {
					got.WriteString(" " + word)
				}
			}
			got.WriteString(", ")
		}
		fmt.Fprint(&got, isWhole)
		if got.String() != want {
			t.Errorf("%s: %s, not %s", params, &got, want)
		}
	}
}
