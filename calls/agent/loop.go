package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
	"github.com/callnode/scheduler/calls/internal/skill"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Why the work ends other than by the model's own will.
const (
	maxRounds = "max_rounds"
	maxTokens = "max_tokens"
	repeated  = "repeated"
	timedOut  = "timeout"
)

// maxUses bounds how many tools one round may use.
const maxUses = 32

// loop is the work of one agent.
type loop struct {
	params Params
	env    *calls.Env
	box    *toolbox
	out    Output
	// before is the conversation before the prompt; without messages if the step gives all of them.
	before calls.Dialogue
	// say streams text; it returns false once the reader has left.
	say   func(text string) bool
	spoke bool // some text was streamed
	spent int  // tokens, estimated if the provider does not report them
	used  map[string]int
	// following is the skill whose instructions the model has read last; nil before it has read any.
	following *skill.Skill
}

// run asks and uses tools in turn.
func (l *loop) run(ctx context.Context) error {
	l.used = map[string]int{}
	forced := "" // why the model has to answer now
	for n := 1; ; n++ {
		answer, err := l.askModel(ctx, forced != "")
		if err != nil {
			return err
		}
		l.out.Text = answer.Text
		l.out.FinishReason, l.out.Provider = answer.FinishReason, answer.Provider
		if forced != "" {
			answer.ToolCalls = nil // they were not offered
			l.out.FinishReason = forced
		}
		l.recordAnswer(answer)
		if len(answer.ToolCalls) == 0 {
			return nil
		}
		broke := l.params.MaxTokens > 0 && l.spent >= l.params.MaxTokens
		fresh, err := l.runTools(ctx, answer.ToolCalls, broke)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case broke:
			l.out.FinishReason = maxTokens
			return nil
		case !fresh:
			forced = repeated
		case n >= l.params.MaxRounds:
			forced = maxRounds
		}
	}
}

// warnOfEnd warns if the work has ended without an answer, or with one that was cut.
func (l *loop) warnOfEnd() {
	if strings.TrimSpace(l.out.Text) != "" {
		last := l.out.Rounds[len(l.out.Rounds)-1]
		if cut := ask.WarnOfCut(l.env, last.FinishReason, "extra.max_tokens"); cut != "" {
			l.out.Warnings = append(l.out.Warnings, cut)
		}
		return
	}
	why := wording.Say("it ended with %s", l.out.FinishReason)
	switch l.out.FinishReason {
	case maxRounds:
		why = wording.Say("its %d rounds of tools are used up; raise max_rounds", l.params.MaxRounds)
	case maxTokens:
		why = wording.Say("its tokens are used up; raise max_tokens")
	case repeated:
		why = wording.Say("it used the same tools again and again")
	case timedOut:
		why = wording.Say("its time is over; raise timeout")
	}
	l.out.Warnings = append(l.out.Warnings, l.env.Say("the model wrote no answer: %s", why))
	l.env.Warn("no-answer", "the model wrote no answer: %s", why)
}

// round is the key of a round's record. The tools are not in it: a file that has changed in the meantime does not
// make the rounds before worthless.
type round struct {
	// Request is a digest of the request to the model.
	Request string `json:"request"`
}

// askModel sends one request and returns the answer. Its text is streamed, without thoughts. An
// answer that the run has on record is not asked for again.
func (l *loop) askModel(ctx context.Context, forced bool) (llm.Answer, error) {
	req := l.newRequest(forced)
	live := false
	ctx = calls.WithParts(ctx, l.messageParts())
	answer, err := calls.Once(ctx, l.env, calls.RoundSubstep, round{digestRequest(ctx, req)}, func(ctx context.Context, env *calls.Env) (llm.Answer, error) {
		live = true
		return l.streamAnswer(ctx, env, req)
	})
	if err == nil && !live && answer.Text != "" {
		err = l.emitText(answer.Text, true)
	}
	if err != nil {
		return llm.Answer{}, err
	}
	distinguishIDs(answer.ToolCalls)
	l.out.Usage.Add(answer.Usage)
	l.spent += l.costOf(req, answer)
	return answer, nil
}

// streamAnswer asks the model.
func (l *loop) streamAnswer(ctx context.Context, env *calls.Env, req *llm.Request) (llm.Answer, error) {
	var joined llm.AnswerBuilder
	var text strings.Builder
	for piece, err := range ask.TextInto(&joined, env.LLM.Chat(ctx, req)) {
		first := text.Len() == 0
		text.WriteString(piece)
		if err == nil {
			err = l.emitText(piece, first)
		}
		if err != nil {
			l.out.Text = text.String() // all that there is if the time is over
			return llm.Answer{}, err
		}
	}
	if text.Len() > 0 { // the text of the round is over: it is seen before its tools run
		if err := l.emitText("", false); err != nil {
			return llm.Answer{}, err
		}
	}
	answer := joined.Answer()
	// The record keeps thoughts only if the next request has to bring them back.
	answer.Extra = answer.VendorMembers()
	answer.Text, answer.Reasoning, answer.ReasoningMember = text.String(), "", ""
	return answer, nil
}

// errAbandoned means that the reader has left.
var errAbandoned = calls.Errorf(calls.Canceled, "the reader of the agent has left")

// emitText streams a piece of a round's text; the rounds stay apart.
func (l *loop) emitText(text string, first bool) error {
	if first && l.spoke {
		text = "\n\n" + text
	}
	l.spoke = true
	if !l.say(text) {
		return errAbandoned
	}
	return nil
}

// digestRequest returns a digest of the question to the model, without its tools. Secrets do not count: a round
// stays valid when a key has changed, and a replay that has no secrets has the same digests.
func digestRequest(ctx context.Context, req *llm.Request) string {
	hash, secrets := sha256.New(), secret.FromContext(ctx)
	for _, m := range req.Messages {
		text := secrets.MaskText(string(m))
		fmt.Fprintf(hash, "%d %s", len(text), text)
	}
	fmt.Fprintf(hash, "%q", req.Model)
	if req.Temperature != nil {
		fmt.Fprintf(hash, " %v", *req.Temperature)
	}
	for _, name := range slices.Sorted(maps.Keys(req.Extra)) {
		fmt.Fprintf(hash, " %q %d %s", name, len(req.Extra[name]), req.Extra[name])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// costOf returns the cost that the provider reports, or an estimate.
func (l *loop) costOf(req *llm.Request, answer llm.Answer) int {
	if n := answer.Usage.Total(); n > 0 {
		return n
	}
	n := llm.RequestTokens(l.env.Tokens, req) + l.env.Tokens.Count(answer.Text)
	for _, c := range answer.ToolCalls {
		n += l.env.Tokens.Count(c.Arguments)
	}
	return n
}

func (l *loop) newRequest(forced bool) *llm.Request {
	req := &llm.Request{Model: l.params.Model, Temperature: l.params.Temperature, Tools: l.box.definitions()}
	for _, m := range l.out.Messages {
		req.Messages = append(req.Messages, value.OfMap(m).AppendJSON(nil))
	}
	req.Extra = make(map[string]json.RawMessage, l.params.Extra.Len()+1)
	for name, member := range l.params.Extra.All() {
		req.Extra[name] = member.AppendJSON(nil)
	}
	if l.params.ResponseSchema != nil && len(req.Tools) == 0 {
		req.ResponseSchema = schema.WithoutDraft(value.OfMap(l.params.ResponseSchema)).AppendJSON(nil)
	}
	if forced && len(req.Tools) > 0 {
		req.Extra["tool_choice"] = json.RawMessage(`"none"`)
	}
	return req
}

// recordAnswer adds an answer to the conversation.
func (l *loop) recordAnswer(answer llm.Answer) {
	m := value.Pairs("role", "assistant", "content", answer.Text)
	round := Round{Text: answer.Text, ToolCalls: []Use{}, Usage: answer.Usage, FinishReason: answer.FinishReason}
	var list []value.Value
	for _, c := range answer.ToolCalls {
		call := value.Pairs("id", c.ID, "type", "function", "function", value.Pairs("name", sentName(c.Name), "arguments", sentArguments(c.Arguments)))
		addVendor(call, c.Extra)
		list = append(list, value.OfMap(call))
		round.ToolCalls = append(round.ToolCalls, Use{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	if list != nil {
		m.Set("tool_calls", value.OfList(list...))
	}
	addVendor(m, answer.Extra)
	l.out.Messages = append(l.out.Messages, m)
	l.out.Rounds = append(l.out.Rounds, round)
}

// addVendor keeps the vendor's own fields; some want them back.
func addVendor(m *value.Map, extra map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if v, err := value.ParseJSON(extra[name]); err == nil {
			m.Set(name, v)
		}
	}
}

// runTools runs the tools of the last round and adds their results; fresh reports that at least one of them was
// not merely a repetition. If no money is left they are not run but still get answers: providers refuse a
// conversation that goes on after a call without one. The error is from a tool that waits for values: then the
// agent waits too.
func (l *loop) runTools(ctx context.Context, toolCalls []llm.ToolCall, broke bool) (fresh bool, waiting error) {
	round := &l.out.Rounds[len(l.out.Rounds)-1]
	var pictures []string
	for i, c := range toolCalls {
		var result toolResult
		var err error
		switch key := c.Name + "\x00" + canonicalArguments(c.Arguments); {
		case broke:
			err = calls.Errorf(calls.Budget, "not run: the tokens are used up")
		case i >= maxUses:
			err = calls.Errorf(calls.Invalid, "not run: a round may use %d tools", maxUses)
		case l.used[key] >= l.params.MaxRepeats:
			err = calls.Errorf(calls.Invalid, "not run: it was used with the same arguments %d times; use what it gave, or try something else", l.used[key])
		case ctx.Err() != nil:
			err = ctx.Err()
		case !l.mayUse(c.Name):
			err = calls.Errorf(calls.Invalid, "not run: the skill %s does not allow %s", l.following.Name, c.Name).
				WithHint("its allowed-tools are: %s", strings.Join(l.following.AllowedTools, ", "))
		default:
			fresh = true
			l.used[key]++
		}
		result, err = l.useTool(ctx, c, err)
		if errors.Is(err, calls.ErrWaiting) { // the other tools run: people are asked for all at once
			waiting = err
			continue
		}
		if err != nil {
			result = l.failedResult(ctx, err)
		}
		if c.Name == calls.ReadSkillTool && result.Error == "" {
			l.following = l.box.workspace.skillToFollow(c.Arguments, l.following)
		}
		u := &round.ToolCalls[i]
		u.Result, u.Error, u.NotRun, u.Added, u.Pictures = result.Text, result.Error, result.NotRun, result.Added, len(result.Pictures)
		pictures = append(pictures, result.Pictures...)
		l.out.Messages = append(l.out.Messages, value.Pairs("role", "tool", "tool_call_id", c.ID, "name", sentName(c.Name), "content", u.Result))
	}
	if len(pictures) > 0 {
		l.out.Messages = append(l.out.Messages, picturesMessage(pictures))
	}
	return fresh, waiting
}

// mayUse reports whether the skill that the model follows allows a tool. Tools that read skills and their files
// are always allowed.
func (l *loop) mayUse(name string) bool {
	if name == calls.ReadFileTool || name == calls.ReadSkillTool {
		return true
	}
	if l.following == nil || l.following.AllowedTools == nil {
		return true
	}
	return slices.ContainsFunc(l.following.AllowedTools, func(allowed string) bool { return strings.EqualFold(allowed, name) })
}

// toolUse is the key of a tool use's record, toolResult the result that the model gets.
type (
	toolUse struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	toolResult struct {
		Text  string `json:"text"`
		Error string `json:"error,omitempty"` // its kind
		// NotRun is set if the tool was refused, or could not be run with the model's arguments.
		NotRun bool `json:"not_run,omitempty"`
		// Added is how many bytes at the end the agent has added.
		Added int `json:"added,omitempty"`
		// File is the path of the file of the workspace from which Text was read; "" if it is from none.
		File string `json:"file,omitempty"`
		// Pictures are the pictures that the model sees, as data URLs.
		Pictures []string `json:"pictures,omitempty"`
	}
)

// useTool runs a tool, unless it is refused. The result for the model, even a failure, is on record: people see
// it, and a resumed run gives the model the same. A tool that the run stopped has no record.
func (l *loop) useTool(ctx context.Context, c llm.ToolCall, refused error) (toolResult, error) {
	return calls.Once(ctx, l.env, calls.ToolSubstep(c.Name), toolUse{c.Name, c.Arguments}, func(ctx context.Context, env *calls.Env) (toolResult, error) {
		t, arguments, err := l.box.prepareUse(c)
		if refused != nil {
			err = refused
		}
		isRun := err == nil
		var params value.Value
		if isRun {
			params, err = t.approvedParams(ctx, env, arguments)
			isRun = err == nil
		}
		if calls.KindOf(err) == calls.Denied && ctx.Err() == nil { // no failure: the model goes on
			denied := l.newResult(ctx, env.MessageOf(err), string(calls.Denied))
			denied.NotRun = true
			return denied, nil
		}
		if isRun {
			var output toolOutput
			output, err = t.run(ctx, env, params)
			if err == nil {
				result := l.newResult(ctx, plainText(output.Value), "")
				result.File = output.file
				if len(output.pictures) > 0 && l.seesImages() {
					result.Pictures = output.pictures
				}
				return result, nil
			}
		}
		if ctx.Err() != nil || errors.Is(err, calls.ErrWaiting) {
			return toolResult{}, err
		}
		failed := l.failedResult(ctx, err)
		failed.NotRun = !isRun
		return failed, calls.Survived(err)
	})
}

// seesImages reports whether the model gets the pictures of its tools: the step's setting, else whether all models
// that may answer accept images.
func (l *loop) seesImages() bool {
	if l.params.Images != nil {
		return *l.params.Images
	}
	return llm.TakesImages(l.env.LLM)
}

func (l *loop) failedResult(ctx context.Context, err error) toolResult {
	return l.newResult(ctx, errorText(l.env, err), string(calls.KindOf(err)))
}

// newResult returns the result that the model gets: the text without the secrets of the run, which a tool may have
// repeated. If it is too long, its beginning with a note.
func (l *loop) newResult(ctx context.Context, text, errorKind string) toolResult {
	text = secret.FromContext(ctx).MaskText(text)
	limit := l.params.MaxResultBytes
	if len(text) <= limit {
		return toolResult{Text: text, Error: errorKind}
	}
	begin := value.FirstBytes(text, limit)
	note := "\n" + l.env.Say("[cut: these are the first %d of %d bytes]", len(begin), len(text))
	return toolResult{Text: begin + note, Error: errorKind, Added: len(note)}
}

// canonicalArguments makes arguments comparable.
func canonicalArguments(arguments string) string {
	v, err := value.ParseJSON([]byte(arguments))
	if err != nil {
		return arguments
	}
	data, err := json.Marshal(v.Any()) // with sorted keys
	if err != nil {
		return arguments
	}
	return string(data)
}

// errorText returns an error as the model gets to see it.
func errorText(env *calls.Env, err error) string {
	hint, message := env.HintOf(err), env.MessageOf(err)
	for _, end := range []string{" (" + hint + ")", "（" + hint + "）"} { // as the error of a flow ends
		message = strings.TrimSuffix(message, end)
	}
	m := value.Pairs("kind", string(calls.KindOf(err)), "message", message)
	if hint != "" {
		m.Set("hint", value.OfString(hint))
	}
	return value.OfMap(value.Pairs("error", m)).JSON()
}

// messageParts returns the parts of all messages so far.
func (l *loop) messageParts() []calls.Part {
	parts := l.params.firstParts(l.before)
	first := len(parts)
	for j, added := range l.out.addedMessages(first) {
		i := first + j
		message := value.OfMap(l.out.Messages[i])
		content, _ := message.Get("content")
		text, _ := content.Str()
		if added.isResult {
			parts = append(parts, resultPart(i, added, text))
			continue
		}
		if len(added.pictures) > 0 {
			parts = append(parts, pictureParts(i, added.pictures)...)
			continue
		}
		parts = append(parts, calls.AnswerPart(i, text))
		if isAltered(message, "tool_calls", added.round, l.out.Rounds) {
			parts = append(parts, calls.Part{Message: &i, At: "/tool_calls", Included: true, Origins: []calls.Origin{madeOfAnswer}})
		}
		parts = append(parts, vendorParts(i, message)...)
	}
	return parts
}
