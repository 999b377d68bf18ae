// Package server is the HTTP API of scheduler serve: it lists flows, starts, follows, answers and shows runs,
// makes single calls, and manages memory. For example, POST /api/v1/flows/hello/runs starts a run of the flow
// hello. It uses the use cases (package service) but no flags, settings or concrete calls. This file builds a
// server without its handlers; serve.go runs it; routes.go lists the handlers, which are plain functions over the
// service; api.go makes the OpenAPI document from their types.
//
// The files:
//
//   - server.go, serve.go, routes.go, api.go, document.go: the server, its connections, all endpoints, and their OpenAPI document
//   - auth.go, caller.go, session.go, host_check.go, limit.go, audit.go: who asks, logins, names of the server, limits, the audit
//   - request.go, language.go, etag.go, write_json.go, write_problem.go, problem.go: requests, and answers to them
//   - flows.go, named_files.go, calls.go, tests.go: flows, the files that they name, calls, tests
//   - start_run.go, runs.go, run_details.go, answers.go: runs begin, are listed, shown and answered
//   - events.go, sse_writer.go, feed.go, follow_runs.go: streams of the events of a run, and of the changes of all runs
//   - hooks.go, schedules.go, memory.go, admin.go, metrics.go, store_check.go: webhooks, schedules, memories, the server's own endpoints
//   - chat.go, mcp.go, inchat_api.go, ui.go: the endpoints of OpenAI, of the Model Context Protocol, of in-chat, and the page
//   - wording.go: the messages in Chinese
package server

import (
	"io/fs"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/dispatch/queue"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/server/folder"
	"github.com/callnode/scheduler/scheduler/server/mcp"
	"github.com/callnode/scheduler/scheduler/server/notify"
	"github.com/callnode/scheduler/scheduler/server/openai"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/server/triggers"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/telemetry"
)

// Options are the dependencies and settings of a [Server]. Service, Store and Log are needed.
type Options struct {
	Service *service.Service
	// Store has tokens, sessions and keys; the caller closes it after the server.
	Store *store.Store
	Log   *slog.Logger
	// Flows are the folders of the flows that clients may name.
	Flows []string
	// Folders are further folders of the server, for example of its state: no answer to a client has their paths, or
	// the paths of Flows.
	Folders []string
	// Limits bound the runs, Recover names the interrupted ones to continue.
	Limits  dispatch.Limits
	Recover string
	// GiveUpAfter is [dispatch.Options] GiveUpAfter.
	GiveUpAfter time.Duration
	// MaxCheck bounds how long the check of a flow's text takes.
	MaxCheck time.Duration
	// On is [dispatch.Options] On.
	On string
	// Queue is the default queue for runs of other machines, used if the flow names none.
	Queue string
	// Drain is how long runs at work are waited for at the end.
	Drain time.Duration
	// NoAuth gives access to everyone who can connect.
	NoAuth bool
	// Hosts are further names of this server, Origins the origins of pages that may read its answers.
	Hosts, Origins []string
	// BehindTLS means that clients come through a proxy that speaks TLS: cookies are Secure, and addresses begin with
	// https.
	BehindTLS bool
	// Edit lets clients change flow files.
	Edit bool
	// Page has the files of the page for people, as package web has them; nil: none is served.
	Page fs.FS
	// MaxBody bounds the body of a request, in bytes.
	MaxBody int64
	// Aliases are further paths of the API that the call in-chat comes from.
	Aliases []string
	// OpenAI are the settings of /v1.
	OpenAI openai.Settings
	// MCP are the settings of /mcp.
	MCP mcp.Settings
	// Telemetry counts the events of runs, for GET /metrics; nil is one of the server's own, without traces.
	Telemetry *telemetry.Observer
	// Language is the language of summaries, Version the program's version.
	Language, Version string
	// Currency is the unit of costs.
	Currency llm.Currency
	// Functions and Plugins list the known functions and plugins as JSON objects.
	Functions, Plugins func() ([]value.Value, error)
	// Notify are URLs that get messages about runs; Client sends to them.
	Notify []notify.Target
	Client *http.Client
	// Prune selects the ended runs to delete.
	Prune Prune
	// NoTriggers leaves the schedules and webhooks of flows alone.
	NoTriggers bool
	// Secret returns the value of a secret that the settings allow.
	Secret func(name string) (text string, ok bool)
	// Clock is the present of schedules and webhooks; nil is the clock of the machine.
	Clock func() time.Time
	// ParseTime reads the time of a call's clock.
	ParseTime func(string) (time.Time, error)
}

// Prune selects the ended runs to delete: runs that are older, and are not among so many of the newest. With 0 for
// either none is deleted.
type Prune struct {
	OlderThan time.Duration
	Keep      int
}

// Server answers HTTP requests. [New] makes one for the life of a process; [Server.Serve]
// listens until its context ends. Its methods are safe for concurrent use.
type Server struct {
	options    Options
	dispatcher *dispatch.Dispatcher
	library    *service.Library
	tests      *service.Tests
	api        huma.API
	mux        *http.ServeMux
	openai     *openai.API
	mcp        *mcp.API
	triggers   *triggers.Triggers
	notifier   *notify.Notifier
	logins     *logins
	limits     *limits
	storeCheck *storeCheck
	readiness  readiness
	feed       *feed
	audit      *auditor
	member     *fleet.Member
	queues     *queue.Watch
	csrf       *http.CrossOriginProtection
	hosts      *hostCheck
	folders    *folder.Hider
	page       *uiPage // nil: none is served
	inFlight   keySet
	editing    sync.Mutex // held while a flow file is replaced

	bye     chan struct{} // closed when streams have to end
	byeOnce sync.Once
}
