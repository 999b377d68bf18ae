package remote

import (
	"encoding/json"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/service"
)

// Settings are those with which the second program opens its connection.
type Settings struct {
	// Version is the version of the first program: the second must have the same.
	Version string `json:"version"`
	// Config is the settings file, "" for none; StateDir the state directory.
	Config   string `json:"config,omitempty"`
	StateDir string `json:"state_dir,omitempty"`
	// On is the address of the service that carries runs out: temporal://HOST:PORT.
	On string `json:"on"`
}

// The values of [request] Method.
const (
	methodOpen   = "open"
	methodStart  = "start"
	methodAnswer = "answer"
	methodWake   = "wake"
	methodWait   = "wait"
	methodCheck  = "check"
)

// request is a request of the first program; Method decides which members it has.
type request struct {
	Method   string             `json:"method"`
	Settings *Settings          `json:"settings,omitempty"`
	Run      *service.RemoteRun `json:"run,omitempty"`
	Answers  []answer           `json:"answers,omitempty"`
	More     bool               `json:"more,omitempty"`
	ID       string             `json:"id,omitempty"` // of the run to wake
}

// reply is a message back: a hint, or the end of the request.
type reply struct {
	Hint    *wording.Text `json:"hint,omitempty"`
	Done    bool          `json:"done,omitempty"`
	Version string        `json:"version,omitempty"` // of the second program, when it is opened
	Answers []answer      `json:"answers,omitempty"`
	Error   *failure      `json:"error,omitempty"`
}

// answer is a [scheduler.Answer] with its value as JSON.
type answer struct {
	Step    string             `json:"step,omitempty"`
	Pointer string             `json:"pointer,omitempty"`
	Value   json.RawMessage    `json:"value"`
	Message string             `json:"message,omitempty"`
	InField bool               `json:"in_field,omitempty"`
	Seen    int64              `json:"seen,omitempty"`
	By      *scheduler.Decider `json:"by,omitempty"`
}

func formatAnswers(answers []scheduler.Answer) []answer {
	all := make([]answer, len(answers))
	for i, one := range answers {
		all[i] = answer{Step: one.Step, Pointer: one.Pointer, Value: json.RawMessage(one.Value.JSON()), Message: one.Message, InField: one.InField, Seen: one.Seen}
		if one.By != (scheduler.Decider{}) {
			all[i].By = &one.By
		}
	}
	return all
}

func parseAnswers(given []answer) ([]scheduler.Answer, error) {
	all := make([]scheduler.Answer, len(given))
	for i, one := range given {
		v, err := value.ParseJSON(one.Value)
		if err != nil {
			return nil, calls.Errorf(calls.Invalid, "the answer for %s: %w", one.Pointer, err)
		}
		all[i] = scheduler.Answer{Step: one.Step, Pointer: one.Pointer, Value: v, Message: one.Message, InField: one.InField, Seen: one.Seen}
		if one.By != nil {
			all[i].By = *one.By
		}
	}
	return all, nil
}

// failure is an error, in the languages of people.
type failure struct {
	Kind    calls.Kind   `json:"kind"`
	Message wording.Text `json:"message"`
	Hint    wording.Text `json:"hint"`
}

// failureOf returns an error as it goes over; nil for none.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	return &failure{
		Kind: calls.KindOf(err), Message: wording.OfError(err),
		Hint: wording.Text{En: calls.HintOf(err), Zh: calls.HintIn(err, "zh")},
	}
}

// err returns the error that went over.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	err := calls.Errorf(f.Kind, "%s", f.Message)
	if f.Hint.En == "" {
		return err
	}
	return err.WithHint("%s", f.Hint)
}

// errVersion returns the error of programs of different versions.
func errVersion(program, theirs, ours string) error {
	return calls.Errorf(calls.Invalid, "%s has the version %s, and scheduler %s: they only work together with the same version", program, theirs, ours).
		WithHint("install both from one release, or name the right one with the setting temporal.program")
}

// CheckVersion returns an error if the program that hands over, whose version is given with [VersionFlag], has
// another version than ours. "" fits: a person started the program.
func CheckVersion(given, ours string) error {
	if given == "" || given == ours {
		return nil
	}
	return errVersion(Program, ours, given)
}

// errOtherSide is returned by a side of the plugin that is asked to be the other one.
var errOtherSide = wording.Errorf("one program asks, the other serves")

// errEnded is the error of a request to a program that has died.
var errEnded = wording.Errorf("the program ended")
