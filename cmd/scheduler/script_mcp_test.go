package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveMCPTools is the command mcptools of scripts: an MCP server with some tools. The tool
// count appends a line to uses.txt, so that scripts see how often it was used.
func serveMCPTools() {
	s := sdk.NewServer(&sdk.Implementation{Name: "test tools", Version: "1"}, nil)
	type numbers struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	said := func(text string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	}
	description := cmp.Or(os.Getenv("MCP_SCRIPT_DESCRIPTION"), "Add two numbers.")
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: description}, func(_ context.Context, _ *sdk.CallToolRequest, in numbers) (*sdk.CallToolResult, any, error) {
		return said(fmt.Sprintf("the sum is %d", in.A+in.B)), nil, nil
	})
	add := func(name string, call func() *sdk.CallToolResult) {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return call(), nil
		})
	}
	add("fail", func() *sdk.CallToolResult {
		result := said("the disk is full")
		result.IsError = true
		return result
	})
	add("bad\x1b[2J", func() *sdk.CallToolResult { return said("") })
	add("count", func() *sdk.CallToolResult {
		before, _ := os.ReadFile("uses.txt") // it may not be there yet
		if err := os.WriteFile("uses.txt", append(before, "used\n"...), 0o600); err != nil {
			return said(err.Error())
		}
		return said(fmt.Sprint(1 + strings.Count(string(before), "\n")))
	})
	_ = s.Run(context.Background(), &sdk.StdioTransport{}) // until the program ends it
}
