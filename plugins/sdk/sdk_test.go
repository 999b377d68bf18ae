package sdk_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/plugins/proto"
	"github.com/callnode/scheduler/plugins/sdk"
)

// The test's own program is a plugin too.
func TestMain(m *testing.M) {
	switch os.Getenv("BE") {
	case "a plugin":
		sdk.Serve(greeter())
	case "a wrong plugin":
		sdk.Serve(sdk.Plugin{Name: "Wrong", Version: "1"})
	}
	os.Exit(m.Run())
}

// Name is the parameters of greet.
type Name struct {
	Name string `json:"name" doc:"Who is greeted"`
}

// Reply is the output of greet.
type Reply struct {
	Text string `json:"text"`
}

func greet(_ context.Context, n Name) (Reply, error) {
	switch n.Name {
	case "panic":
		panic("at " + n.Name)
	case "wrong":
		return Reply{}, &sdk.Error{Kind: "invalid", Message: "no such name", Hint: "take another"}
	case "late":
		return Reply{}, context.DeadlineExceeded
	}
	return Reply{"Hello " + n.Name}, nil
}

func greeter() sdk.Plugin {
	doc := sdk.Doc{En: "For tests.", Zh: "测试用。"}
	return sdk.Plugin{Name: "greeter", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Call("greet", doc, greet, sdk.Example("Ada", "{name: Ada}")),
		sdk.Stream("spell", doc, func(_ context.Context, n Name) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for _, r := range n.Name {
					if !yield(string(r), nil) {
						return
					}
				}
			}
		}, sdk.Example("Ada", "{name: Ada}")),
		sdk.Variable("greeter_mood", doc, func(context.Context, plugins.State) (float64, error) { return 0.5, nil }),
		sdk.Variable("greeter_memories", doc, func(ctx context.Context, s plugins.State) (int, error) {
			found, err := s.Retrieve(ctx)
			return len(found), err
		}, sdk.Retrieves()),
		sdk.Importance("matters", doc, func(context.Context, plugins.State, plugins.Item) (plugins.Verdict, error) {
			return plugins.Verdict{Include: true}, nil
		}),
	}}
}

func TestConformance(t *testing.T) {
	server, err := greeter().Server()
	if err != nil {
		t.Fatal(err)
	}
	pluginstest.RunInProcess(t, server)
}

// chunks collects the chunks that an execution sends.
type chunks struct {
	proto.Plugin_ExecServer
	all []*proto.Chunk
}

func (*chunks) Context() context.Context { return context.Background() }

func (c *chunks) Send(chunk *proto.Chunk) error {
	c.all = append(c.all, chunk)
	return nil
}

// Whatever a function does is an answer.
func TestFailures(t *testing.T) {
	server, err := greeter().Server()
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]*proto.Failure{
		`{"name":"panic"}`: {Message: "panic: at panic"},
		`{"name":"wrong"}`: {Kind: "invalid", Message: "no such name", Hint: "take another"},
		`{"name":"late"}`:  {Kind: "timeout", Message: "context deadline exceeded"},
		`{"name":`:         {Kind: "invalid", Message: "the input is not JSON: "},
		`{"name":1}`:       {Kind: "invalid", Message: "/name: "},
	} {
		for _, function := range []string{"greet", "spell"} {
			c := &chunks{}
			if err := server.Exec(&proto.ExecRequest{Function: function, Input: []byte(input)}, c); err != nil {
				t.Fatal(err)
			}
			if function == "spell" && strings.HasSuffix(input, `"}`) {
				continue // it spells any name
			}
			got := c.all[len(c.all)-1].GetFailure()
			if got.GetKind() != want.GetKind() || !strings.HasPrefix(got.GetMessage(), want.GetMessage()) || got.GetHint() != want.GetHint() {
				t.Errorf("%s %s: got %v, want %v", function, input, got, want)
			}
		}
	}
	c := &chunks{}
	if err := server.Exec(&proto.ExecRequest{Function: "great", Input: []byte("{}")}, c); err != nil || c.all[0].GetFailure().GetHint() != `did you mean "greet"?` {
		t.Errorf("got %v, %v", c.all, err)
	}
	for _, req := range []*proto.Request{
		{},
		{Ask: &proto.Request_Judge{Judge: &proto.Judge{Function: "greet"}}},
		{Ask: &proto.Request_Resolve{Resolve: &proto.Resolve{Names: []string{"matters"}}}},
		{Ask: &proto.Request_Init{Init: &proto.Init{Function: "matters"}}},
	} {
		if reply, err := server.Ask(t.Context(), req); err != nil || reply.GetFailure() == nil {
			t.Errorf("%v: got %v, %v", req, reply, err)
		}
	}
}

// A function that calls State.Retrieve and does not declare it gets an error with the remedy, not a nil function
// or no memories.
func TestRetrieveIsDeclared(t *testing.T) {
	count := func(ctx context.Context, s plugins.State) (int, error) {
		found, err := s.Retrieve(ctx)
		return len(found), err
	}
	server, err := sdk.Plugin{Name: "p", Version: "1", Functions: []sdk.Function{
		sdk.Variable("declared", sdk.Doc{En: "x"}, count, sdk.Retrieves()), sdk.Variable("forgotten", sdk.Doc{En: "x"}, count),
	}}.Server()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name string) *proto.Reply {
		reply, err := server.Ask(t.Context(), &proto.Request{Ask: &proto.Request_Resolve{Resolve: &proto.Resolve{
			Names: []string{name}, State: &proto.State{Retrieved: []*proto.Recalled{{Text: "tea"}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if got := string(ask("declared").GetResolved().GetValues()["declared"]); got != "1" {
		t.Errorf("got %s memories, want 1", got)
	}
	f := ask("forgotten").GetFailure()
	if f.GetKind() != "invalid" || f.GetHint() != "add the option sdk.Retrieves() to the function" || !strings.Contains(f.GetMessage(), "forgotten calls State.Retrieve without declaring it") {
		t.Errorf("got %v", f)
	}
}

func TestHostOfNoRequest(t *testing.T) {
	h := sdk.HostOf(t.Context())
	_, search := h.Search(t.Context(), "x", 1)
	_, ask := h.Ask(t.Context(), "x")
	_, vars := h.Vars(t.Context())
	for _, err := range []error{search, ask, vars, h.Log(t.Context(), "info", "x")} {
		if err == nil || !strings.Contains(err.Error(), "granted no services") {
			t.Errorf("got %v", err)
		}
	}
	if s := h.State(); s.Input != "" || !s.Now.IsZero() {
		t.Errorf("the state is %+v", s)
	}
}

func TestCheck(t *testing.T) {
	doc := sdk.Doc{En: "x"}
	good := greeter()
	for want, p := range map[string]sdk.Plugin{
		"":                                   good,
		`the plugin's name "" is not`:        {},
		"the plugin has no version":          {Name: "x"},
		"a function is empty":                {Name: "x", Version: "1", Functions: []sdk.Function{{}}},
		`two functions are called "greet"`:   {Name: "x", Version: "1", Functions: []sdk.Function{good.Functions[0], good.Functions[0]}},
		`the name "Greet" is not kebab-case`: {Name: "x", Version: "1", Functions: []sdk.Function{sdk.Call("Greet", doc, greet)}},
		`the name "is-new" is not snake_case`: {Name: "x", Version: "1", Functions: []sdk.Function{
			sdk.Variable("is-new", doc, func(context.Context, plugins.State) (int, error) { return 0, nil }),
		}},
	} {
		err := p.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, serr := p.Server(); (serr == nil) != (err == nil) {
			t.Errorf("Server says %v, Check %v", serr, err)
		}
	}
}

// Started by hand, the program prints its name and its use.
func TestByHand(t *testing.T) {
	for be, want := range map[string]string{
		"a plugin":       "This program is the plugin greeter 1.0.0 of scheduler, which starts it: it is not run by hand.\n  call       greeter.greet: For tests.\n",
		"a wrong plugin": `plugin Wrong: the plugin's name "Wrong" is not kebab-case`,
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "BE="+be)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), want) {
			t.Errorf("got %v\n%s\nwant %s", err, out, want)
		}
	}
}
