package verify_test

import (
	"context"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/proto"
	"github.com/callnode/scheduler/plugins/sdk"
	"github.com/callnode/scheduler/plugins/verify"
)

func failures(t *testing.T, h *host.Host) map[string]string {
	t.Helper()
	failed := map[string]string{}
	for _, r := range verify.Run(t.Context(), h, "faulty") {
		if r.Err != nil {
			failed[r.Check] = r.Err.Error()
		}
	}
	return failed
}

// greeting is the parameters of faulty.greet, line its input and output.
type greeting struct {
	Name string `json:"name" doc:"Who is greeted" min:"1"`
}

type line struct {
	Text string `json:"text" doc:"The greeting"`
}

// includeAll includes every item.
func includeAll(_ context.Context, _ plugins.State, item plugins.Item) (plugins.Verdict, error) {
	return plugins.Verdict{Include: true, Reason: item.Name}, nil
}

// faulty is a plugin of one function of every kind, with one fault.
type faulty struct {
	proto.PluginServer
	describe func(*proto.Description)
	ask      func(*proto.Request, *proto.Reply) (*proto.Reply, error)
	exec     func(*proto.ExecRequest, grpc.ServerStreamingServer[proto.Chunk]) error
	session  func(grpc.BidiStreamingServer[proto.Requests, proto.Replies]) error
}

func (f *faulty) Describe(ctx context.Context, req *proto.DescribeRequest) (*proto.Description, error) {
	d, err := f.PluginServer.Describe(ctx, req)
	if err == nil {
		d.Session = f.session != nil
		if f.describe != nil {
			f.describe(d)
		}
	}
	return d, err
}

func (f *faulty) Ask(ctx context.Context, req *proto.Request) (*proto.Reply, error) {
	reply, err := f.PluginServer.Ask(ctx, req)
	if err == nil && f.ask != nil {
		return f.ask(req, reply)
	}
	return reply, err
}

func (f *faulty) Exec(req *proto.ExecRequest, stream grpc.ServerStreamingServer[proto.Chunk]) error {
	if f.exec != nil {
		return f.exec(req, stream)
	}
	return f.PluginServer.Exec(req, stream)
}

func (f *faulty) Session(stream grpc.BidiStreamingServer[proto.Requests, proto.Replies]) error {
	if f.session != nil {
		return f.session(stream)
	}
	return f.PluginServer.Session(stream)
}

func newFaultless(t *testing.T) proto.PluginServer {
	t.Helper()
	doc := sdk.Doc{En: "For tests.", Zh: "测试用。"}
	server, err := sdk.Plugin{Name: "faulty", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Importance("judge", doc, includeAll),
		sdk.Variable("mood", doc, func(context.Context, plugins.State) (string, error) { return "well", nil }),
		sdk.InitCall("greet", doc, func(_ context.Context, g greeting) (line, error) { return line{g.Name}, nil },
			func(_ context.Context, in line) (line, error) { return in, nil }, sdk.Example("Ada", "{name: Ada}")),
		sdk.Stream("count", doc, func(context.Context, greeting) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) { yield("1", nil) }
		}, sdk.Example("One", "{name: one}")),
	}}.Server()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// The suite names the check that a fault belongs to, and gives a remedy.
func TestRunFindsFaults(t *testing.T) {
	var times atomic.Int64
	verdicts := func(change func([]*proto.Verdict) []*proto.Verdict) func(*proto.Request, *proto.Reply) (*proto.Reply, error) {
		return func(_ *proto.Request, reply *proto.Reply) (*proto.Reply, error) {
			if j := reply.GetJudged(); j != nil && len(j.Verdicts) > 0 {
				j.Verdicts = change(j.Verdicts)
			}
			return reply, nil
		}
	}
	for name, c := range map[string]struct {
		plugin faulty
		check  string
		want   string
	}{
		"too few verdicts": {
			faulty{ask: verdicts(func(v []*proto.Verdict) []*proto.Verdict { return v[1:] })},
			"importance judge", "with 1 items: plugin faulty, function judge: it returned 0 verdicts for 1 items (an importance function returns one verdict per item, in their order)",
		},
		"a score beyond one": {
			faulty{ask: verdicts(func(v []*proto.Verdict) []*proto.Verdict {
				hundred := 100.0
				v[0].Score = &hundred
				return v
			})},
			"importance judge", "the score of item 0 is 100 (want 0 to 1) (leave the score out where there is none)",
		},
		"a value that does not fit": {
			faulty{ask: func(_ *proto.Request, reply *proto.Reply) (*proto.Reply, error) {
				if r := reply.GetResolved(); r != nil {
					r.Values = map[string][]byte{"mood": []byte("7")}
				}
				return reply, nil
			}},
			"variable mood", "the value of mood: it does not fit its schema",
		},
		"an input of chance": {
			faulty{ask: func(_ *proto.Request, reply *proto.Reply) (*proto.Reply, error) {
				if in := reply.GetInitialized(); in != nil {
					in.Input = []byte(`{"text":"` + strconv.FormatInt(times.Add(1), 10) + `"}`)
				}
				return reply, nil
			}},
			"call greet", `the example "Ada": init returned two inputs for the same parameters`,
		},
		"an output that does not fit": {
			faulty{exec: func(_ *proto.ExecRequest, stream grpc.ServerStreamingServer[proto.Chunk]) error {
				return stream.Send(&proto.Chunk{Piece: &proto.Chunk_Data{Data: []byte(`{"txt":"x"}`)}})
			}},
			"call greet", `the example "Ada": plugin faulty, call greet: its output: it does not fit its schema`,
		},
		"no description": {
			faulty{describe: func(d *proto.Description) {
				d.Functions = append([]*proto.Function{{
					Name: "bare", Kind: proto.Kind_CALL, DocEn: "Bare.", Literal: []string{"y"},
					Params: []byte(`{"type":"object","properties":{"x":{}}}`), Input: []byte(`{"type":"object"}`), Output: []byte(`{"type":"object"}`),
				}}, d.Functions...)
			}},
			"description", "bare: doc_zh is empty (describe in one Chinese sentence what it does)\nbare: it has no example (give it one that runs without a network)\n" +
				"bare: the parameter \"x\" has no description (give it one in its schema)\nbare: the literal parameter \"y\" does not exist\n" +
				"bare: its parameters accept unknown names (add additionalProperties: false, so that misspelled ones are found)",
		},
		"what is unknown is answered": {
			faulty{ask: func(req *proto.Request, reply *proto.Reply) (*proto.Reply, error) {
				if reply.GetFailure() != nil {
					return &proto.Reply{Answer: &proto.Reply_Judged{Judged: &proto.Judged{}}}, nil
				}
				return reply, nil
			}},
			"unknown function", "by Ask: it answered as if nothing were wrong (answer with a Failure that tells what is wrong)",
		},
		"a status for a failure": {
			faulty{ask: func(req *proto.Request, reply *proto.Reply) (*proto.Reply, error) {
				if f := reply.GetFailure(); f != nil {
					return nil, status.Error(codes.NotFound, "\x1b[31m"+f.GetMessage())
				}
				return reply, nil
			}},
			"unknown function", "it answered with a gRPC status: [31mthe plugin",
		},
		"garbage is taken": {
			faulty{exec: func(_ *proto.ExecRequest, stream grpc.ServerStreamingServer[proto.Chunk]) error {
				return stream.Send(&proto.Chunk{Piece: &proto.Chunk_Data{Data: []byte(`{"text":"x"}`)}})
			}},
			"input that is not JSON", "call greet: it answered as if nothing were wrong",
		},
		"large requests are refused": {
			faulty{ask: func(req *proto.Request, reply *proto.Reply) (*proto.Reply, error) {
				if len(req.GetJudge().GetState().GetInput()) > 4<<20 {
					return nil, status.Error(codes.ResourceExhausted, "received message larger than max")
				}
				return reply, nil
			}},
			"large request", "(ResourceExhausted) (accept messages up to the size in the environment variable SCHEDULER_PLUGIN_MAX_MESSAGE)",
		},
		"a session mixes the ids up": {
			faulty{session: func(stream grpc.BidiStreamingServer[proto.Requests, proto.Replies]) error {
				for {
					m, err := stream.Recv()
					if err == io.EOF { //nolint:errorlint // as gRPC says
						return nil
					}
					if err != nil {
						return err
					}
					for _, req := range m.GetRequests() {
						_ = stream.Send(&proto.Replies{Replies: []*proto.Reply{{Id: req.GetId() + 1}}})
					}
				}
			}},
			"variable mood", "it broke the protocol: it answered request",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.plugin.PluginServer = newFaultless(t)
			h, err := host.InProcess(&c.plugin, host.Options{})
			if err != nil {
				t.Fatal(err)
			}
			failed := failures(t, h)
			if got := failed[c.check]; !strings.Contains(got, c.want) {
				t.Errorf("%s: got %q\nwant %q\nall: %q", c.check, got, c.want, slices.Sorted(maps.Keys(failed)))
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
