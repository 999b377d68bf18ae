package openai

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// ChatRequest documents a request; its other fields are used if the flow has an input of the name, and else
// refused or listed in the answer: see fields.go.
type ChatRequest struct {
	Model    string        `json:"model" doc:"The id of a flow. Fields of the request that nothing follows are listed in scheduler.ignored of the answer."`
	Messages []value.Value `json:"messages" doc:"Each has a role and a content: a text, or a list of parts with a type."`
	Stream   bool          `json:"stream,omitempty"`
	Options  *struct {
		IncludeUsage bool `json:"include_usage,omitempty"`
	} `json:"stream_options,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty" doc:"session is the conversation."`
	User     string            `json:"user,omitempty" doc:"Tells the users of one client apart. With the scope runs:as the run is theirs: run.user in the flow."`
	_        struct{}          `json:"-" additionalProperties:"true"`
}

// request is a request for a completion.
type request struct {
	doc      value.Value
	model    string
	messages value.Value
	// talk are the messages of the user and the assistant, and instructions the texts of the client's other ones, as chatKeys
	// compares them.
	talk         []said
	instructions string
	session      string
	user         string // the member user, by which a client distinguishes its users
	stream       bool
	usage        bool // in a last chunk of its own
}

// parseRequest reads a request.
func parseRequest(body []byte, header http.Header) (*request, error) {
	doc, err := value.ParseStrictJSON(body)
	if err != nil {
		return nil, NewError(http.StatusBadRequest, wording.Say("the body is not JSON: %v", err), "", "")
	}
	in := &request{doc: doc}
	model, _ := doc.Get("model")
	in.model, _ = model.Str()
	if in.model == "" {
		return nil, NewError(http.StatusBadRequest, wording.Say("model is missing"), "model", "missing")
	}
	in.messages, _ = doc.Get("messages")
	if len(in.messages.List()) == 0 {
		return nil, NewError(http.StatusBadRequest, wording.Say("messages is not a list with a message"), "messages", "missing")
	}
	if err := checkMessages(in.messages.List()); err != nil {
		return nil, err
	}
	in.talk, in.instructions = splitTalk(in.messages.List())
	in.stream, err = boolAt(doc, "/stream")
	if err != nil {
		return nil, err
	}
	in.usage, err = boolAt(doc, "/stream_options/include_usage")
	if err != nil {
		return nil, err
	}
	user, _ := doc.Get("user")
	in.user, _ = user.Str()
	session, _ := doc.At("/metadata/session")
	named, _ := session.Str()
	in.session = value.Truncate(cmp.Or(named, header.Get("X-Session-Id"), header.Get("X-OpenWebUI-Chat-Id")), maxSession)
	return in, nil
}

// boolAt returns the boolean at a pointer; false if there is none.
func boolAt(doc value.Value, pointer string) (bool, error) {
	v, _ := doc.At(pointer)
	yes, isBool := v.Bool()
	if !isBool && !v.IsNull() {
		name := strings.ReplaceAll(pointer[1:], "/", ".")
		return false, NewError(http.StatusBadRequest, wording.Say("%s is not a boolean", name), name, "invalid_type")
	}
	return yes, nil
}

// maxSession bounds the name of a session, in characters.
const maxSession = 200

// isTask reports whether a chat page asks for a title or the like, and not its user.
func (in *request) isTask() bool {
	list := in.messages.List()
	return strings.HasPrefix(strings.TrimSpace(textOf(list[len(list)-1])), "### Task:")
}

// lastQuestion returns the index of the last message of the user; -1 for none.
func (in *request) lastQuestion() int {
	list := in.messages.List()
	for i, m := range slices.Backward(list) {
		if roleOf(m) == "user" {
			return i
		}
	}
	return -1
}

// askedEnd returns the number of messages of the talk up to the assistant's last one, if only the user has said something since;
// else 0. A client that got an error instead of a reply sends its user's earlier and newer message: for example,
// the result is 2 for (user, assistant, user "It is A1042", user "A-1042").
func (in *request) askedEnd() int {
	n := len(in.talk)
	for n > 0 && in.talk[n-1].role == "user" {
		n--
	}
	isAsked := n > 0 && n < len(in.talk) && in.talk[n-1].role == "assistant"
	if !isAsked {
		return 0
	}
	return n
}

// answerEnd returns the number of messages of the talk up to the one that answers the assistant's last message; 0
// if the last message is not an answer. A client that got an error may have added the same answer once more:
// repeats are not counted. For example, the result is 3 for (user, assistant, user "7", user "7").
func (in *request) answerEnd() int {
	if in.askedEnd() == 0 {
		return 0
	}
	n := len(in.talk)
	for in.talk[n-1] == in.talk[n-2] {
		n--
	}
	return n
}

// checkOrder refuses messages after the last one of the user: a flow answers that one, and its conversation has
// the messages before. A flow with an input messages gets them all unchanged.
func (in *request) checkOrder(f *flow.Flow) error {
	list, at := in.messages.List(), in.lastQuestion()
	if at < 0 || isInput(f, "messages") {
		return nil
	}
	for i := at + 1; i < len(list); i++ {
		if role := roleOf(list[i]); role != "system" && role != "developer" {
			place := fmt.Sprintf("messages[%d]", i)
			return NewError(http.StatusBadRequest, wording.Say("%s comes after the last message of the user, which is the one that the flow answers (end with a message of the user, or give the flow an input messages)", place), place, "invalid_value")
		}
	}
	return nil
}

// flowInputs returns the request's inputs for the flow: the inputs that a conversation has, and every other field
// that the flow names.
func (in *request) flowInputs(f *flow.Flow, user string) *value.Map {
	properties, _ := f.Inputs.Doc().Get("properties")
	inputs := value.NewMap(4)
	list, at := in.messages.List(), in.lastQuestion()
	for name, v := range in.doc.Map().All() {
		if _, isNamed := properties.Get(name); isNamed && name != "messages" {
			inputs.Set(name, v)
		}
	}
	if at >= 0 {
		inputs.Set("question", value.OfString(textOf(list[at])))
	}
	given := value.Pairs("messages", in.messages, "history", in.conversation())
	if _, isGiven := inputs.Get("user"); !isGiven && user != "" {
		given.Set("user", value.OfString(user))
	}
	for name, v := range given.All() {
		if _, isNamed := properties.Get(name); isNamed {
			inputs.Set(name, v)
		}
	}
	return inputs
}

// conversation returns all messages but the question.
func (in *request) conversation() value.Value {
	list, at := in.messages.List(), in.lastQuestion()
	return value.OfList(slices.Delete(slices.Clone(list), max(at, 0), at+1)...)
}

// chatKeys returns the keys that find the run of a chat after the first n messages of its talk, the closest first: by the talk, the
// assistant's reply and the client's instructions; by these without the instructions, which change between two requests of a chat if they
// hold a clock, for example; and by the talk alone, for a client that changes the reply.
func (in *request) chatKeys(by Caller, n int, reply string) [][]byte {
	key := func(kind string, more ...string) []byte {
		return hashOf(append([]string{kind, by.Key, in.model, in.user, in.session, joinTalk(in.talk[:n])}, more...)...)
	}
	reply = plainWords(reply)
	return [][]byte{key("instructed", reply, in.instructions), key("reply", reply), key("talk")}
}

// requestKey returns the key that finds a repeat of the request, which has done something to a run. The client's instructions
// do not count: a repeat's may hold a later time.
func (in *request) requestKey(by Caller, did deed) []byte {
	talk := in.talk
	if did == answers {
		talk = talk[:in.answerEnd()]
	}
	return hashOf(by.Key, in.model, in.user, joinTalk(talk), in.session, string(did))
}

// sameKey returns the key that finds the run of the same request, with any form of its answer, while the flow has
// a hash.
func (in *request) sameKey(by Caller, flow string) []byte {
	rest := in.doc.Map().Clone()
	rest.Delete("stream")
	rest.Delete("stream_options")
	return hashOf("same", by.Key, flow, in.session, value.OfMap(rest).JSON())
}

// failureKeys returns the keys that may find the run which failed before the last message, which asks to try again: the failed request
// ended with the message before it, or with the one before the assistant's message about the failure. A client
// that names its session may have sent neither.
func (in *request) failureKeys(by Caller, flow string) (keys [][]byte) {
	n := len(in.talk) - 1
	if n > 0 {
		keys = append(keys, in.failureKey(by, flow, n))
	}
	if n > 1 && in.talk[n-1].role == "assistant" {
		keys = append(keys, in.failureKey(by, flow, n-1))
	}
	if in.session != "" {
		keys = append(keys, in.failureKey(by, flow, 0))
	}
	return keys
}

// failureKey returns the key that finds the run which failed after the first n messages of the talk; of 0 the one that failed last in
// the session.
func (in *request) failureKey(by Caller, flow string, n int) []byte {
	return hashOf("failed", by.Key, in.model, flow, in.user, in.session, joinTalk(in.talk[:n]))
}

// sessionKey returns the key that finds the runs of a session. The same name that another token or another user of the client gives
// is another session.
func (in *request) sessionKey(by Caller) []byte {
	return hashOf("session", by.Key, in.model, in.user, in.session)
}

func hashOf(parts ...string) []byte {
	sum := sha256.Sum256([]byte(value.Must(parts).JSON()))
	return sum[:]
}

// holder holds the text of steps with retries back until they have finished, so that no text
// has to be taken back. The turn makes one; with no such steps it passes all.
type holder struct {
	isHeld func(step string) bool
	held   map[string][]*journal.Event
}

func newHolder(f *flow.Flow, hold bool) *holder {
	return &holder{held: map[string][]*journal.Event{}, isHeld: func(id string) bool {
		step, ok := f.FindStep(id)
		return hold && ok && step.Retry.MaxAttempts > 1
	}}
}

// passEvents returns the events that can be shown once e has come.
func (h *holder) passEvents(e *journal.Event) []*journal.Event {
	if e.Step == "" || !h.isHeld(e.Step) {
		return []*journal.Event{e}
	}
	step := journal.StepPath(e.Step, e.Index)
	switch e.Type { //nolint:exhaustive // the others show no text
	case journal.StepDelta:
		h.held[step] = append(h.held[step], e)
		return nil
	case journal.StepRetrying:
		delete(h.held, step)
		return nil
	case journal.StepFinished:
		events := h.held[step]
		delete(h.held, step)
		return append(events, e)
	}
	return []*journal.Event{e}
}
