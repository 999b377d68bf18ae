package replay_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
)

// token and pin are the secrets of the recorded runs. pin has only digits, key has lines, and odd has characters
// that URLs, JSON and HTML escape.
const (
	token = "sk-live-0pen-sesame"
	pin   = "48151623"
	odd   = `p"w&d/x=1`
	key   = "-----BEGIN KEY-----\nQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n-----END KEY-----"
	// vendor is a key of the program that flows have no name for.
	vendor = "vendor-key-1234"
)

// machine is a machine that records or plays runs, with its secrets.
type machine struct {
	named  []replay.Secret
	hidden *secret.Set
}

func newMachine(named ...replay.Secret) *machine {
	m := &machine{named, secret.NewSet(nil)}
	for _, one := range named {
		m.hidden.Add(one.Text)
	}
	return m
}

func (m *machine) open(t *testing.T, path string) *replay.Cassette {
	t.Helper()
	c, err := replay.Open(replay.Options{Path: path, Hidden: m.hidden, Secrets: func() []replay.Secret { return m.named }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask returns an answer of a run to a question.
func (m *machine) ask(t *testing.T, r *replay.Run, question string, answer value.Value) value.Value {
	t.Helper()
	ctx := secret.NewContext(t.Context(), m.hidden)
	got, err := r.Exchange(ctx, "http", "GET x", value.OfString(question), func(context.Context) (value.Value, error) { return answer, nil })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestSecretsInAnswers: a secret anywhere in an answer is not in the cassette. A machine with the secrets gets the
// answer as it was; on one without, and on one whose secrets were changed, it is as long and is masked in the same
// places.
func TestSecretsInAnswers(t *testing.T) {
	text := value.OfString
	answers := map[string]value.Value{
		"start":         text(token + " it is"),
		"middle":        text("it is " + token + ", yes"),
		"end":           text("it is " + token),
		"alone":         text(token),
		"twice":         text(token + " and " + token),
		"side by side":  text(token + token),
		"two":           text(token + pin),
		"in JSON":       text(`{"auth": "Bearer ` + token + `", "pw": "p\"w&d/x=1"}`),
		"in JSON twice": text(`"{\"pw\": \"p\\\"w&d/x=1\"}"`),
		"in escapes":    text(`sk-live-0pen\u002dsesame`),
		"in a URL":      text("https://x/?pw=p%22w%26d%2Fx%3D1"),
		"in base64":     text("c2stbGl2ZS0wcGVuLXNlc2FtZQ=="),
		"inside base64": text("dXNlcjpzay1saXZlLTBwZW4tc2VzYW1l"),
		"in capitals":   text(strings.ToUpper(token)),
		"in lines":      text("the key:\n" + key),
		"a line of it":  text("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="),
		"a number":      value.OfMap(value.Pairs("pin", 48151623, "at", 7)),
		"a key":         value.OfMap(value.Pairs(token, "x", "y", []string{token})),
		"no name":       text("the vendor's " + vendor),
		"like a mark":   text("[secret:TOKEN:19] and [secret] and [secret:] " + token),
		"headers": value.OfMap(value.Pairs("status", 200, "headers",
			http.Header{"X-Token": {"Bearer " + token, token}}, "body", `{"pin": 48151623, "t": "`+token+`"}`)),
	}
	own := []replay.Secret{{Name: "TOKEN", Text: token}, {Name: "PIN", Text: pin}, {Name: "ODD", Text: odd}, {Name: "KEY", Text: key}}
	path := filepath.Join(t.TempDir(), "c.yaml")
	home := newMachine(own...)
	home.hidden.Add(vendor)
	recorded := home.open(t, path).Record(replay.Header{Inputs: "in", Now: morning})
	recorded.Begin("run-one", 0, morning)
	for name, answer := range answers {
		home.ask(t, recorded, name, answer)
	}
	for _, one := range own {
		recorded.NoteSecret(one.Name, one.Text)
	}
	if err := recorded.End(true); err != nil {
		t.Fatal(err)
	}
	file := read(t, path)
	for _, one := range append(own, replay.Secret{Text: vendor}) {
		for _, form := range secret.Forms(one.Text) {
			if strings.Contains(file, form) {
				t.Errorf("the cassette has %q", form)
			}
		}
	}

	changed := []replay.Secret{{Name: "TOKEN", Text: "sk-live-another-one"}, {Name: "PIN", Text: "908172"}}
	for name, m := range map[string]*machine{"with the secrets": newMachine(own...), "without": newMachine(), "changed": newMachine(changed...)} {
		t.Run(name, func(t *testing.T) {
			m.hidden.Add(vendor)
			played := m.open(t, path).Play(replay.Header{Inputs: "in"}, true)
			for _, one := range own { // as the flow does, before anything is asked
				m.hidden.Add(played.Secret(one.Name, ""))
			}
			for name, answer := range answers {
				got := m.ask(t, played, name, value.Value{})
				if want := home.hidden.MaskValue(answer); !value.Equal(m.hidden.MaskValue(got), want) {
					t.Errorf("%s: masked it is %s, want %s; it was %s", name, m.hidden.MaskValue(got), want, got)
				}
				if len(got.PlainText()) != len(answer.PlainText()) {
					t.Errorf("%s: %d bytes, want %d: %s", name, len(got.JSON()), len(answer.JSON()), got)
				}
			}
		})
	}
	isNameless := map[string]bool{"no name": true, "in escapes": true, "in JSON twice": true} // marks of these have a length alone
	played := newMachine(own...).open(t, path).Play(replay.Header{Inputs: "in"}, true)
	for name, answer := range answers {
		if got := home.ask(t, played, name, value.Value{}); !isNameless[name] && !value.Equal(got, answer) {
			t.Errorf("%s, on a machine with the secrets: %s, want %s", name, got, answer)
		}
	}
}

// TestSecretsInPieces: an answer of a model keeps its pieces, although a secret is spread over them.
func TestSecretsInPieces(t *testing.T) {
	deltas := []llm.Delta{
		{Text: "It is sk-li"}, {Text: "ve-0pen-"}, {Text: "sesame, is it?"}, {Reasoning: "sk-live-0pen"}, {Reasoning: "-sesame", ReasoningMember: "reasoning"},
		{ToolCalls: []llm.ToolCallDelta{{ID: "1", Name: "pay", Arguments: `{"pin": 481`}}}, {ToolCalls: []llm.ToolCallDelta{{Arguments: `51623, "t": "` + token + `"}`}}},
		{Extra: map[string]json.RawMessage{"pin": json.RawMessage("48151623")}, FinishReason: "stop"},
	}
	path := filepath.Join(t.TempDir(), "c.yaml")
	home := newMachine(replay.Secret{Name: "TOKEN", Text: token}, replay.Secret{Name: "PIN", Text: pin})
	recorded := home.open(t, path).Record(replay.Header{Inputs: "in", Now: morning})
	recorded.Begin("run-one", 0, morning)
	inner := withSecrets{scripted.New(scripted.Answer{Deltas: deltas}), nil}
	collect(t, recorded.Provider("main", inner), user("go"))
	if err := recorded.End(true); err != nil {
		t.Fatal(err)
	}
	if file := read(t, path); strings.Contains(file, "sesame") || strings.Contains(file, "51623") {
		t.Errorf("the cassette has a part of a secret:\n%s", file)
	}
	for name, m := range map[string]*machine{"with the secrets": home, "without": newMachine()} {
		played := m.open(t, path).Play(replay.Header{Inputs: "in"}, true)
		var got []llm.Delta
		for d, err := range played.Provider("main", nil).Chat(secret.NewContext(t.Context(), m.hidden), user("go")) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d)
		}
		if name == "without" {
			for i := range deltas {
				if len(got[i].Text) != len(deltas[i].Text) {
					t.Errorf("piece %d is %q", i, got[i].Text)
				}
			}
			whole := got[0].Text + got[1].Text + got[2].Text
			if m.hidden.MaskText(whole) != "It is ***, is it?" || strings.Contains(whole, token) {
				t.Errorf("the text is %q", whole)
			}
			continue
		}
		if diff := cmp.Diff(deltas, got); diff != "" {
			t.Errorf("(-recorded +played)\n%s", diff)
		}
	}
}
