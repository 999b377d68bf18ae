package server_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/server"
)

// benchFixture is a server without tokens, whose requests are not limited.
func benchFixture(b *testing.B) (base string) {
	dir := b.TempDir()
	f := newFixture(b, dir, nil, func(o *server.Options) {
		o.NoAuth, o.Limits.Runs, o.Limits.PerUser, o.Limits.Queued = true, 64, 64, 10_000
	})
	text := "name: three\nsteps:\n"
	for _, id := range []string{"a", "b", "c"} {
		text += "  - {id: " + id + ", call: template, with: {template: x}}\n"
	}
	if err := os.WriteFile(dir+"/flows/three.yaml", []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return f.base
}

// post makes a request and reads the answer.
func post(b *testing.B, client *http.Client, url, body string) {
	answer, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 || !bytes.Contains(text, []byte(`"run"`)) {
		b.Errorf("%d %s, %v", answer.StatusCode, text, err)
	}
}

// reportTimes reports the quantiles of times.
func reportTimes(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	for name, q := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99} {
		at := times[min(int(q*float64(len(times))), len(times)-1)]
		b.ReportMetric(float64(at.Microseconds())/1000, name)
	}
}

// BenchmarkStart measures a start by one client, whose answer says that the first event is on
// the disk.
func BenchmarkStart(b *testing.B) { measurePosts(b, "/api/v1/runs") }

// BenchmarkRun measures runs of three steps to their end, by one client.
func BenchmarkRun(b *testing.B) { measurePosts(b, "/api/v1/runs?wait=10s") }

// measurePosts measures requests that start a run, one after the other.
func measurePosts(b *testing.B, path string) {
	b.Helper()
	base := benchFixture(b)
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		post(b, http.DefaultClient, base+path, `{"flow": "three"}`)
		times = append(times, time.Since(began))
	}
	reportTimes(b, times)
}

// BenchmarkRuns measures runs of three steps to their end, by 32 clients.
func BenchmarkRuns(b *testing.B) {
	base := benchFixture(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.SetParallelism(16)
	b.ResetTimer()
	began := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			post(b, client, base+"/api/v1/runs?wait=10s", `{"flow": "three"}`)
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "runs/s")
}
