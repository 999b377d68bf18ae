package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/mcp"
	"github.com/callnode/scheduler/llm/value"
)

// MCP is the settings of the MCP servers whose tools flows use.
type MCP struct {
	LockFile string      `json:"lock_file,omitempty" min:"1"`
	Servers  []MCPServer `json:"servers,omitempty"`
}

// MCPServer is one of mcp.servers.
type MCPServer struct {
	Name       string            `json:"name" min:"1"`
	URL        string            `json:"url,omitempty"`
	Command    string            `json:"command,omitempty"`
	Args       []string          `json:"args,omitempty"`
	HeadersEnv map[string]string `json:"headers_env,omitempty"`
	Env        []string          `json:"env,omitempty"`
	Tools      []string          `json:"tools,omitempty"`
	Timeout    value.Duration    `json:"timeout,omitempty"`
}

// mcpTimeout is the default time limit for one use of a tool.
const mcpTimeout = 60 * time.Second

// Server returns the server as the calls know it.
func (c *MCPServer) Server() mcp.Server {
	return mcp.Server{
		Name: c.Name, URL: c.URL, Command: c.Command, Args: c.Args, Headers: c.HeadersEnv, Env: c.Env, Tools: c.Tools,
		Timeout: cmp.Or(time.Duration(c.Timeout), mcpTimeout),
	}
}

// check refuses settings that make no sense.
func (c *MCP) check() error {
	var names []string
	for i := range c.Servers {
		s, at := c.Servers[i].Server(), fmt.Sprintf("mcp.servers[%d]", i)
		if member, err := s.Check(); err != nil {
			if member != "" {
				at += "." + member
			}
			return wrongSetting(at, "%w", err)
		}
		if slices.Contains(names, s.Name) {
			return wrongSetting(at+".name", "duplicate name %q", s.Name)
		}
		if s.Timeout < 0 {
			return wrongSetting(at+".timeout", "invalid duration %s (use 30s or 5m)", s.Timeout)
		}
		names = append(names, s.Name)
	}
	return nil
}

// Names returns the names of the servers.
func (c *MCP) Names() (names []string) {
	for i := range c.Servers {
		names = append(names, c.Servers[i].Name)
	}
	return names
}
