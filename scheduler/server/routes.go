package server

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/callnode/scheduler/docs"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// registerAll adds all endpoints. Only these are served.
func (s *Server) registerAll() {
	s.api = s.newAPI()
	s.registerRuns()
	s.registerFlows()
	s.registerCalls()
	s.registerTests()
	s.registerMemory()
	s.registerSchedules()
	s.registerHooks()
	s.registerAdmin()
	s.registerSessions()
	s.registerInChatAPI()
	s.registerOpenAI()
	s.registerMCP()
	s.registerMetrics()
	s.registerWorkers()
	s.registerGuides()
	s.mux.HandleFunc("/", s.answerUnknownPath)
}

// answerUnknownPath answers requests that no endpoint serves.
func (s *Server) answerUnknownPath(w http.ResponseWriter, r *http.Request) {
	if s.page != nil && s.page.serve(w, r) {
		return
	}
	if r.URL.Path == "/" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "scheduler serve\n\nThe API is described at "+base+"/openapi.json\n") // the client may have gone
		return
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(probe); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		p := newProblem(http.StatusMethodNotAllowed, "method", wording.Say("%s is not a method of this path", r.Method), wording.Say("use %s", strings.Join(allowed, ", ")))
		p.header.Set("Allow", strings.Join(allowed, ", "))
		s.writeProblem(w, r, p)
		return
	}
	s.writeProblem(w, r, newProblem(http.StatusNotFound, "notfound", wording.Say("there is no such path"), wording.Say("GET %s describes all", base+"/openapi.json")))
}

// registerGuides adds the guides as Markdown: /docs/TOPIC.md, in Chinese with ?language=zh, and /llms.txt, which
// lists them for models (llmstxt.org). They are the same for all, so they need no token.
func (s *Server) registerGuides() {
	s.mux.HandleFunc("GET /llms.txt", func(w http.ResponseWriter, _ *http.Request) {
		var list strings.Builder
		list.WriteString("# scheduler\n\n> Build LLM flows in YAML. See where every byte of the prompt came from. Test it without a model. One binary.\n\n## Guides\n\n")
		for _, guide := range docs.List("en") {
			fmt.Fprintf(&list, "- [%s](/docs/%s.md): %s\n", guide.Title, guide.Topic, guide.Summary)
		}
		writeMarkdown(w, list.String())
	})
	s.mux.HandleFunc("GET /docs/{file}", func(w http.ResponseWriter, r *http.Request) { s.serveGuide(w, r, r.URL.Query().Get("language")) })
	// Links of a Chinese guide are as in the folder: its neighbours are below zh, and the English guides above.
	s.mux.HandleFunc("GET /docs/zh/{file}", func(w http.ResponseWriter, r *http.Request) { s.serveGuide(w, r, "zh") })
}

// serveGuide writes the guide that the path names.
func (s *Server) serveGuide(w http.ResponseWriter, r *http.Request, language string) {
	topic, isMarkdown := strings.CutSuffix(r.PathValue("file"), ".md")
	text, ok := docs.Read(topic, language)
	if !isMarkdown || !ok {
		s.writeProblem(w, r, newProblem(http.StatusNotFound, "notfound", wording.Say("there is no such guide"), wording.Say("GET %s lists them", "/llms.txt")))
		return
	}
	writeMarkdown(w, text)
}

// markdown is the media type of guides (RFC 7763).
const markdown = "text/markdown;charset=utf-8"

func writeMarkdown(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", markdown)
	_, _ = io.WriteString(w, text) // the client may have gone
}

// registerRuns adds the endpoints for runs.
func (s *Server) registerRuns() {
	const run = base + "/runs/{id}"
	gone, held := []int{http.StatusNotFound}, []int{http.StatusNotFound, http.StatusConflict}
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: base + "/runs", id: "start-run", summary: "Start a run of a flow", scope: store.RunsWrite,
		status: http.StatusCreated, also: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[runBody]()}, errors: held,
	}, s.startRun)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: base + "/flows/{flow}/runs", id: "start-run-of-flow", summary: "Start a run of this flow", scope: store.RunsWrite,
		status: http.StatusCreated, also: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[runBody]()}, errors: held,
	}, s.startRunOfFlow)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/runs", id: "list-runs", summary: "List runs, the newest first", scope: store.RunsRead}, s.listRuns)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/run-hours", id: "count-runs", summary: "Count runs by the hours in which they began", scope: store.RunsRead}, s.countRuns)
	addEndpoint(s, endpoint{method: http.MethodGet, path: run, id: "get-run", summary: "Get a run with its steps", scope: store.RunsRead, also: map[int]reflect.Type{http.StatusNotModified: nil}, errors: gone}, s.getRun)
	addEndpoint(s, endpoint{
		method: http.MethodDelete, path: run, id: "delete-run", summary: "Delete a run for good", scope: store.Admin, status: http.StatusNoContent, errors: held,
	}, s.deleteRun)
	addEndpoint(s, endpoint{
		method: http.MethodGet, path: run + "/events", id: "follow-run", summary: "List the events of a run, or follow them as server-sent events", scope: store.RunsRead,
		also: map[int]reflect.Type{http.StatusNoContent: nil}, errors: gone, media: []string{"text/event-stream"}, json: reflect.TypeFor[page[*journal.Event]](),
	}, s.runEvents)
	addEndpoint(s, endpoint{method: http.MethodGet, path: run + "/steps/{step...}", id: "get-step", summary: "Get a step with its payloads", scope: store.RunsRead, errors: gone}, s.getStep)
	addEndpoint(s, endpoint{method: http.MethodGet, path: run + "/prompts", id: "explain-prompts", summary: "Explain where each piece of a step's prompts comes from", scope: store.RunsRead, errors: gone}, s.getPrompts)
	addEndpoint(s, endpoint{
		method: http.MethodGet, path: run + "/graph", id: "get-run-graph", summary: "Get the flow of a run as nodes and edges, as the run has kept it", scope: store.RunsRead, errors: gone,
	}, s.getRunGraph)
	addEndpoint(s, endpoint{method: http.MethodGet, path: run + "/files", id: "get-files", summary: "List the files of a run, or read one", scope: store.RunsRead, errors: gone}, s.getFiles)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: run + "/answers", id: "answer-run", summary: "Give a run what it waits for", scope: store.RunsWrite, status: http.StatusAccepted,
		also: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[accepted]()}, errors: held,
	}, s.answerRun)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: run + "/resume", id: "resume-run", summary: "Go on with a run, with an edited flow too", scope: store.RunsWrite, status: http.StatusAccepted,
		errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusGatewayTimeout},
	}, s.resumeRun)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: run + "/fork", id: "fork-run", summary: "Run a flow again from a step of a run, in a new run", scope: store.RunsWrite,
		status: http.StatusCreated, also: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[forkedRun]()}, errors: held,
	}, s.forkRun)
	addEndpoint(s, endpoint{
		method: http.MethodPost, path: run + "/cancel", id: "cancel-run", summary: "Cancel a run", scope: store.RunsWrite, status: http.StatusAccepted, errors: held,
	}, s.cancelRun)
	addEndpoint(s, endpoint{method: http.MethodGet, path: base + "/waiting", id: "list-waiting", summary: "List all that runs wait for, the oldest first", scope: store.RunsRead}, s.listWaiting)
	addEndpoint(s, endpoint{
		method: http.MethodGet, path: base + "/events", id: "follow-runs", summary: "Follow the states of all runs as server-sent events", scope: store.RunsRead,
		advice: "The stream begins with what changes after it was opened. A client that shows lists opens it first, and fetches the lists once it is open, " +
			"and again after an event reset: some changes before that are not known any more. An event run has a run after a change.",
		media: []string{"text/event-stream"},
	}, s.followRuns)
}
