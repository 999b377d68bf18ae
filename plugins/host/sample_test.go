package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/host/process"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
	"github.com/callnode/scheduler/plugins/sdk"
)

// hangs is an argument of a plugin by which its keeper hangs at its start.
const hangs = "its-keeper-hangs"

// The test's own program is the plugin, and a host that is killed.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == process.ReaperCommand:
		if slices.Contains(os.Args, hangs) {
			time.Sleep(time.Hour) // not select: with no other goroutine the runtime ends the program
		}
		syscall.Exit(process.Reap(os.Args[2:]))
	case os.Getenv(proto.MaxMessageKey) != "": // whatever its other variables say: it must not run the tests
		sdk.Serve(sample())
		syscall.Exit(0) // os.Exit sleeps for a second under the race detector
	case len(os.Args) == 4 && os.Args[1] == "be-a-host":
		beAHost(os.Args[2], os.Args[3])
	}
	if len(os.Args) == 3 && os.Args[1] == "serve-raw" {
		serveRaw(os.Args[2])
	}
	goleak.VerifyTestMain(m)
}

// Greeting is the parameters of sample.greet.
type Greeting struct {
	Name  string `json:"name" doc:"Who is greeted" min:"1"`
	Times int    `json:"times" default:"1" doc:"How often" min:"1" max:"100"`
}

// Line is a greeting with the time.
type Line struct {
	Text string `json:"text" doc:"The greeting"`
}

// Nothing has no parameters.
type Nothing struct{}

// Environment is the environment that the program sees.
type Environment struct {
	Vars []string    `json:"vars" doc:"Environment variables"`
	Dir  string      `json:"dir" doc:"Working directory"`
	In   string      `json:"in" doc:"Standard input"`
	Seen value.Value `json:"seen" doc:"What the step sees"`
	Key  string      `json:"key" doc:"The idempotency key"`
}

// sample offers the functions that the tests need.
func sample() sdk.Plugin {
	version := "1.0.0"
	if len(os.Args) > 1 && os.Getenv(proto.CookieKey) != "" {
		version = os.Args[1]
	}
	doc := sdk.Doc{En: "For tests.", Zh: "测试用。"}
	return sdk.Plugin{Name: "sample", Version: version, Functions: []sdk.Function{
		sdk.Importance("is_long", doc, func(_ context.Context, _ plugins.State, item plugins.Item) (plugins.Verdict, error) {
			switch item.Name {
			case "panic":
				panic("not this one")
			case "exit":
				fmt.Fprintln(os.Stderr, "these are its last words")
				os.Exit(9)
			case "complain":
				fmt.Fprintln(os.Stderr, "a complaint about another item")
			case "quit":
				os.Exit(9)
			case "not UTF-8":
				return plugins.Verdict{}, &sdk.Error{Kind: "pro\xffvider", Message: "a\xffb", Hint: "c\xffd"}
			case "fill":
				n, err := strconv.Atoi(item.Text)
				return plugins.Verdict{Reason: strings.Repeat("x", n)}, err
			}
			score := min(1, float64(len(item.Text))/10)
			return plugins.Verdict{Include: len(item.Text) > 5, Score: &score, Reason: strconv.Itoa(len(item.Text))}, nil
		}),
		sdk.Importance("is_known", doc, func(ctx context.Context, s plugins.State, item plugins.Item) (plugins.Verdict, error) {
			found, err := s.Retrieve(ctx)
			for _, r := range found {
				if r.Text == item.Text {
					return plugins.Verdict{Include: true}, err
				}
			}
			return plugins.Verdict{}, err
		}, sdk.Retrieves()),
		sdk.Ranking("echo", doc, echo{}),
		sdk.Variable("profile", doc, func(_ context.Context, s plugins.State) (map[string]string, error) {
			return map[string]string{"user": s.User, "turns": strconv.Itoa(len(s.History)), "at": s.Now.Format(time.RFC3339)}, nil
		}),
		sdk.Variable("mood", doc, func(context.Context, plugins.State) (string, error) { return "", sdk.ErrNoValue }),
		sdk.Variable("broken", doc, func(context.Context, plugins.State) (string, error) {
			return "", &sdk.Error{Kind: "provider", Message: "the mood server is down", Hint: "start it"}
		}),
		sdk.Variable("pid", doc, func(context.Context, plugins.State) (int, error) { return os.Getpid(), nil }),
		sdk.InitCall("greet", doc, func(ctx context.Context, p Greeting) (Line, error) {
			if p.Name == "nobody" {
				return Line{}, &sdk.Error{Kind: "missing", Message: "there is nobody"}
			}
			return Line{strings.Repeat("Hello "+p.Name+". ", p.Times)}, nil
		}, func(ctx context.Context, in Line) (Line, error) {
			return Line{in.Text + sdk.HostOf(ctx).State().Language}, nil
		}, sdk.Example("Greets Ada", "{name: Ada}"), sdk.Literal("name")),
		sdk.Stream("count", doc, func(ctx context.Context, p Greeting) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for i := range p.Times {
					if !yield(strconv.Itoa(i), nil) {
						return
					}
				}
				if p.Name == "trouble" {
					yield("", errors.New("no more numbers"))
				}
			}
		}, sdk.Example("Counts to three", "{name: x, times: 3}")),
		sdk.Call("ask-model", doc, func(ctx context.Context, p Greeting) (Line, error) {
			h := sdk.HostOf(ctx)
			found, err := h.Search(ctx, p.Name, 1)
			if err != nil {
				return Line{}, err
			}
			if err := h.Log(ctx, "warn", "asking about "+p.Name); err != nil {
				return Line{}, err
			}
			text, err := h.Ask(ctx, p.Name+": "+found[0].Text)
			return Line{text}, err
		}, sdk.AsksModel(), sdk.Example("Asks", "{name: tea}", "ok")),
		sdk.Call("environment", doc, func(ctx context.Context, _ Nothing) (Environment, error) {
			in, err := io.ReadAll(os.Stdin)
			if err != nil {
				return Environment{}, err
			}
			dir, err := os.Getwd()
			if err != nil {
				return Environment{}, err
			}
			vars := os.Environ()
			seen, err := sdk.HostOf(ctx).Vars(ctx)
			if err != nil {
				seen = value.Must(err.Error())
			}
			return Environment{vars, dir, string(in), seen, sdk.HostOf(ctx).IdempotencyKey()}, nil
		}, sdk.Example("Shows it", "{}")),
		sdk.Check("names", doc, func(_ context.Context, _ plugins.State, item plugins.Item) (plugins.Verdict, error) {
			var data struct{ With string }
			if item.Data == nil {
				return plugins.Verdict{Reason: "nothing to check"}, nil
			}
			err := json.Unmarshal(item.Data, &data)
			return plugins.Verdict{Include: strings.Contains(item.Text, data.With), Reason: data.With}, err
		}),
	}}
}

type echo struct{}

// Judge includes everything.
func (echo) Judge(_ context.Context, _ plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	verdicts := make([]plugins.Verdict, len(items))
	for i := range verdicts {
		verdicts[i] = plugins.Verdict{Include: true, Reason: items[i].Name}
	}
	return verdicts, nil
}

// folder makes the folder of the sample plugin; more is further lines of its
// manifest.
func folder(t testing.TB, more string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sample")
	program, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, manifest.FileName), fmt.Appendf(nil, "name: sample\nversion: 1.0.0\ncommand: %s\n%s\n", program, more), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// open returns a host of one plugin and the registry of its functions.
func open(t testing.TB, dir string, opts host.Options) (*host.Host, *calls.Registry) {
	t.Helper()
	opts.TempDir = shortDir(t)
	h, err := host.Single(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return h, registered(t, h)
}

func registered(t testing.TB, h *host.Host) *calls.Registry {
	t.Helper()
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := calls.NewRegistry()
	if err == nil {
		err = h.Register(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shortDir returns a folder with a name that leaves room for sockets; it must be empty at the end.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Errorf("files of plugins are left: %v", err)
		}
	})
	return dir
}

func run(t testing.TB, r *calls.Registry, env *calls.Env, name string, params *value.Map) (value.Value, error) {
	t.Helper()
	def, ok := r.Call(name)
	if !ok {
		t.Fatalf("there is no call %s", name)
	}
	call, err := def.New(value.OfMap(params))
	if err != nil {
		return value.Value{}, err
	}
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		return value.Value{}, err
	}
	return callstest.CollectOutput(call.Exec(t.Context(), env, input))
}

// Each test below holds for a plugin in this process and for a program.
func both(t *testing.T, services []string, test func(t *testing.T, r *calls.Registry, log *strings.Builder)) {
	t.Helper()
	log := func() (*strings.Builder, *slog.Logger) {
		var b strings.Builder
		return &b, slog.New(slog.NewTextHandler(&b, nil))
	}
	t.Run("in process", func(t *testing.T) {
		server, err := sample().Server()
		if err != nil {
			t.Fatal(err)
		}
		text, logger := log()
		h, err := host.InProcess(server, host.Options{Log: logger}, services...)
		if err != nil {
			t.Fatal(err)
		}
		test(t, registered(t, h), text)
	})
	for _, mtls := range []bool{false, true} {
		t.Run(fmt.Sprintf("program, AutoMTLS %t", mtls), func(t *testing.T) {
			text, logger := log()
			_, r := open(t, folder(t, "services: ["+strings.Join(services, ", ")+"]"), host.Options{Log: logger, AutoMTLS: mtls})
			test(t, r, text)
		})
	}
}
