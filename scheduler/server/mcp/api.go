package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/service"
)

// Settings are the settings of the MCP server.
type Settings struct {
	// Calls are the names of the calls that are tools, beside the flows.
	Calls []string
}

// Options are the dependencies and settings of an [API].
type Options struct {
	Settings
	Service    *service.Service
	Dispatcher *dispatch.Dispatcher
	Library    *service.Library
	Log        *slog.Logger
	// Key signs the state that clients carry from one request to the next: it is the same for all servers that they
	// may use.
	Key []byte
	// Language is the language of descriptions, Version the program's version.
	Language, Version string
	// HideFolders removes the paths of the server's folders from a text for clients; nil leaves it unchanged.
	HideFolders func(string) string
	// PathsFor returns the function that names files in answers to a principal; nil leaves paths unchanged.
	PathsFor func(service.Principal) func(path string) string
}

// API answers requests. A server makes one with [New] for its life, and ends its sessions
// with [API.Close]. It is safe for concurrent use.
type API struct {
	options Options
	// versions is the server that the library asks about the versions of a request in a session.
	versions            *sdk.Server
	stateless, stateful http.Handler
	open                context.Context // ends with Close
	close               context.CancelFunc

	mu       sync.Mutex // guards the fields below
	sessions []*sdk.Server
	missing  map[string]bool // calls of the settings that were missed
}

// Caller is the caller of a request.
type Caller struct {
	service.Principal
	// Key distinguishes callers that have the same user.
	Key string
	// Address is the address of the server's pages for the caller, http://host:port; "" if there are none.
	Address string
	// The caller's rights besides running flows.
	CanCall, CanReadRuns, CanReadFlows bool
}

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	// statelessSince is the first version of the protocol without sessions.
	statelessSince = "2026-07-28"
	// sessionLife is how long a session lasts without a request, maxSessions how many there
	// may be.
	sessionLife = time.Hour
	maxSessions = 1000
)

// client is a caller with the library's server for it: for one request, or for a session,
// whose requests come at the same time. Which tools there are is looked up for each request,
// so that a flow that was edited is the one that runs.
type client struct {
	api    *API
	by     Caller
	server *sdk.Server
}

// missCall logs once that a call of the settings is missing: a plugin that is gone takes its
// tools with it.
func (a *API) missCall(name string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.missing[name] {
		a.options.Log.Warn("a call of serve.mcp.calls is not a tool", "call", name, "error", err)
	}
	a.missing[name] = true
}

// signTexts returns the signature of texts.
func (a *API) signTexts(texts ...string) string {
	mac := hmac.New(sha256.New, a.options.Key)
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		mac.Write(sum[:])
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
