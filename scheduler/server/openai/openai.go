// Package openai serves flows as the models of an OpenAI-compatible API: a flow whose inputs
// need only the question is a model, its text for the user is the answer. A run that waits for values asks for
// them in the conversation: for example, the answer is "Which order?", and the next message gives its number.
package openai

import (
	"log/slog"
	"os"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// Settings are the settings of the API.
type Settings struct {
	// TasksLLM names the provider, or several as [llm.ParseNames] reads them, that answers a chat page's requests
	// beside the chat, for example for a title or tags. "" is the default one.
	TasksLLM string
	// HoldRetries holds the text of steps with retries back until they have finished.
	HoldRetries bool
}

// Options are the dependencies and settings of an [API].
type Options struct {
	Settings
	Service    *service.Service
	Dispatcher *dispatch.Dispatcher
	Library    *service.Library
	Store      *store.Store
	Log        *slog.Logger
	// HideFolders removes the paths of the server's folders from a text for clients; nil leaves it unchanged.
	HideFolders func(string) string
}

// API answers requests. The server makes one with [New]; it is safe for concurrent use.
type API struct{ options Options }

// New returns the API.
func New(o Options) *API {
	if o.HideFolders == nil {
		o.HideFolders = func(text string) string { return text }
	}
	return &API{o}
}

// Caller is the caller of a request.
type Caller struct {
	service.Principal
	// Key distinguishes callers that have the same user.
	Key string
	// Language is the language of the errors.
	Language string
	// ActAs returns the principal for the member user of a request, "" for none. It is nil for a caller who may not begin runs for users:
	// the member then only distinguishes chats.
	ActAs func(user string) (service.Principal, error)
}

// IsModel reports whether a flow needs no other inputs than a conversation's.
func (*API) IsModel(f *flow.Flow) bool { return service.IsModel(f) }

// Model is a flow in the list of models.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// Models is the list of models.
type Models struct {
	Object string  `json:"object"`
	Data   []Model `json:"data" nullable:"false"`
}

// Model returns the flow of a name, if it is a model.
func (a *API) Model(name string) (*Model, error) {
	list, err := a.Models()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Data, func(m Model) bool { return m.ID == name })
	if i < 0 {
		return nil, calls.Errorf(calls.NotFound, "the model %s does not exist", name)
	}
	return &list.Data[i], nil
}

// Models lists the flows that are models.
func (a *API) Models() (*Models, error) {
	all, err := a.options.Library.Flows()
	if err != nil {
		return nil, err
	}
	list := &Models{Object: "list", Data: []Model{}}
	for _, f := range all {
		if f.Flow == nil || !a.IsModel(f.Flow) {
			continue
		}
		m := Model{ID: f.ID, Object: "model", OwnedBy: "scheduler"}
		if info, err := os.Stat(f.File); err == nil {
			m.Created = info.ModTime().Unix()
		}
		list.Data = append(list.Data, m)
	}
	return list, nil
}
