package host_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/proto"
)

// raw is a gRPC service that does nothing, to compare with.
type raw struct {
	proto.UnimplementedPluginServer
}

// Ask returns one verdict.
func (raw) Ask(_ context.Context, req *proto.Request) (*proto.Reply, error) {
	return &proto.Reply{Answer: &proto.Reply_Judged{Judged: &proto.Judged{Verdicts: []*proto.Verdict{{
		Include: true, Reason: req.GetJudge().GetItems()[0].GetName(),
	}}}}}, nil
}

func serveRaw(socket string) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s := grpc.NewServer()
	proto.RegisterPluginServer(s, raw{})
	fmt.Println("ready")
	_ = s.Serve(listener)
}

func startRaw(b *testing.B) proto.PluginClient {
	b.Helper()
	socket := filepath.Join(b.TempDir(), "raw.sock")
	cmd := exec.Command(os.Args[0], "serve-raw", socket)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	_, _ = out.Read(make([]byte, 10))
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return proto.NewPluginClient(conn)
}

// callers runs f b.N times, from so many goroutines, and gives how often a second.
func callers(b *testing.B, n int, f func() error) float64 {
	b.Helper()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := f(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "requests/s")
	return rate
}

// BenchmarkRequest compares one judged item of 256 bytes: a bare gRPC service in
// another process, and a plugin by unary requests and in a session; x-raw is how many
// times as fast as the former.
func BenchmarkRequest(b *testing.B) {
	item := []plugins.Item{{Name: "x", Text: strings.Repeat("x", 256)}}
	state := plugins.State{Input: "What is new?"}
	for _, n := range []int{1, 16, 256} {
		raw := 0.0
		b.Run(fmt.Sprintf("raw/callers=%d", n), func(b *testing.B) {
			client := startRaw(b)
			raw = callers(b, n, func() error {
				_, err := client.Ask(b.Context(), &proto.Request{Ask: &proto.Request_Judge{Judge: &proto.Judge{
					Function: "echo", State: proto.FromState(state), Items: proto.FromItems(item),
				}}})
				return err
			})
		})
		for _, kind := range []string{"unary", "session"} {
			b.Run(fmt.Sprintf("%s/callers=%d", kind, n), func(b *testing.B) {
				h, r := open(b, folder(b, ""), host.Options{})
				if kind == "unary" {
					if err := host.WithoutSession(b.Context(), h, "sample"); err != nil {
						b.Fatal(err)
					}
				}
				f, _ := r.Importance("sample.echo")
				rate := callers(b, n, func() error {
					_, err := f.Judge(b.Context(), state, item)
					return err
				})
				if raw > 0 {
					b.ReportMetric(rate/raw, "x-raw")
				}
			})
		}
	}
}

// BenchmarkBatch judges many items in one request.
func BenchmarkBatch(b *testing.B) {
	_, r := open(b, folder(b, ""), host.Options{})
	f, _ := r.Importance("sample.echo")
	for _, size := range []int{16, 256, 10_000} {
		items := make([]plugins.Item, size)
		for i := range items {
			items[i] = plugins.Item{Name: "item", Text: strings.Repeat("x", 256)}
		}
		for _, n := range []int{1, 16} {
			b.Run(fmt.Sprintf("items=%d/callers=%d", size, n), func(b *testing.B) {
				callers(b, n, func() error {
					_, err := f.Judge(b.Context(), plugins.State{}, items)
					return err
				})
				b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "items/s")
			})
		}
	}
}

// BenchmarkStart goes from nothing to the first answer, and back to nothing; through a
// keeper, as the command line does, and without.
func BenchmarkStart(b *testing.B) {
	dir := folder(b, "")
	for _, keeper := range []bool{true, false} {
		b.Run(fmt.Sprintf("keeper=%t", keeper), func(b *testing.B) {
			for b.Loop() {
				h, err := host.Single(b.Context(), dir, host.Options{Reaper: keeper})
				if err != nil {
					b.Fatal(err)
				}
				if err := h.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
