// Package mcp makes calls of the tools of Model Context Protocol servers: mcp.SERVER.TOOL.
//
// A server is foreign: a person looks at its tools once and trusts it, and its tools are written to a lock file
// ([Lock]). Flows are checked against that file without starting a server. A tool that has changed since then is
// refused, for example one with a new description. A server starts, or is connected to, when a step first uses it
// ([Host]); its answers are bounded in time and size, and a server that breaks off, hangs or lies ends in an error
// that names it.
package mcp

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Prefix begins the names of all calls of the package.
const Prefix = "mcp."

// Server is a server of the settings: with a URL, or with a command that speaks over standard
// input and output. It does not change.
type Server struct {
	Name string
	URL  string
	// Command and Args start the server in the folder of the project.
	Command string
	Args    []string
	// Headers are sent with each request: the environment variables that hold them, by their
	// names.
	Headers map[string]string
	// Env are the environment variables that the command gets; it gets no others.
	Env []string
	// Tools are the names of the tools that may be used; none means all.
	Tools []string
	// Timeout bounds each use of a tool, including the start of the server if it is needed.
	Timeout time.Duration
}

// serverName matches the names that servers may have; they are parts of the names of calls.
var serverName = value.CompileLater(`^[a-z][a-z0-9-]{0,39}$`)

// Check returns why the settings of a server make no sense; at is the member.
func (s *Server) Check() (at string, err error) {
	switch {
	case !serverName().MatchString(s.Name):
		return "name", wording.Errorf("invalid name %q (use small letters, digits and -)", s.Name)
	case s.URL == "" && s.Command == "":
		return "", wording.Errorf("url or command is missing")
	case s.URL != "" && s.Command != "":
		return "", wording.Errorf("url and command are both given: leave one out")
	case s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
		return "url", wording.Errorf("invalid URL %q (use https://host/mcp)", s.URL)
	case s.Command == "" && len(s.Args) > 0:
		return "args", wording.Errorf("args belong to a command")
	case s.Command == "" && len(s.Env) > 0:
		return "env", wording.Errorf("env belongs to a command (headers_env to a url)")
	case s.URL == "" && len(s.Headers) > 0:
		return "headers_env", wording.Errorf("headers_env belongs to a url (env to a command)")
	}
	return "", nil
}

// trustedSource names the source of a server, for example its URL; a server with another source is not trusted.
func (s *Server) trustedSource() string {
	if s.URL != "" {
		return s.URL
	}
	return value.Must(append([]string{s.Command}, s.Args...)).JSON()
}

// allowsTool reports whether a tool may be used.
func (s *Server) allowsTool(tool string) bool {
	return len(s.Tools) == 0 || slices.Contains(s.Tools, tool)
}

// callName returns the name of the call of a tool.
func callName(server, tool string) string { return Prefix + server + "." + tool }

// errorf returns an error that names the server.
func (s *Server) errorf(kind calls.Kind, format string, args ...any) *calls.Error {
	return calls.Errorf(kind, "the MCP server %s: %w", s.Name, wording.Errorf(format, args...))
}

// Options configure a [Host].
type Options struct {
	Servers  []Server
	LockFile string
	// Dir is the directory in which commands start.
	Dir string
	// HTTP reaches servers with a URL: it refuses hosts that are not allowed.
	HTTP *http.Client
	// LookupEnv returns environment variables, as [os.LookupEnv] does.
	LookupEnv func(name string) (text string, ok bool)
	// Version is the program's version, which is sent to servers.
	Version string
	// Hidden are the secrets that are masked in messages outside a run, which has its own; nil for none.
	Hidden *secret.Set
}

// secretsOf returns the secrets that may occur in text from a server: the ones of the run that ctx belongs to,
// else the program's.
func (o *Options) secretsOf(ctx context.Context) *secret.Set {
	if set := secret.FromContext(ctx); set != nil {
		return set
	}
	return o.Hidden
}
