package server_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/test/slow"
)

// TestHostileClients holds connections that send no whole request, sends bodies that are
// too large, and many requests without a token: others are answered meanwhile.
func TestHostileClients(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.Admin)
	address := strings.TrimPrefix(f.base, "http://")
	for range 200 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "POST /api/v1/runs HTTP/1.1\r\nHost: "+address+"\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
	}
	var others sync.WaitGroup
	others.Go(func() {
		for range 5 {
			body := io.LimitReader(endless{}, 100<<20)
			r, err := http.NewRequest(http.MethodPost, f.base+"/api/v1/runs", body)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+token)
			answer, err := http.DefaultClient.Do(r)
			if err != nil { // the server has closed the connection while it was sent
				continue
			}
			if answer.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("100 MB are answered with %d", answer.StatusCode)
			}
			_ = answer.Body.Close()
		}
	})
	for range 20 {
		others.Go(func() {
			for range slow.Rounds(50, 500) {
				answer, err := http.Get(f.base + "/api/v1/runs")
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusUnauthorized {
					t.Errorf("without a token the answer is %d", answer.StatusCode)
					return
				}
			}
		})
	}
	f.start(token, "echo", `{"question": "one"}`)
	others.Wait()
	if run := f.start(token, "echo", `{"question": "two"}`); run == "" {
		t.Error("no run was started")
	}
}

// endless is a text that does not end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// TestOrigins lets pages of listed origins read, and no others.
func TestOrigins(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, func(o *server.Options) { o.Origins = []string{"https://app.example.com"} })
	token := f.token("lin", store.RunsRead)
	allowed := f.do(token, "GET", "/api/v1/runs", "", "Origin", "https://app.example.com")
	if allowed.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || allowed.header.Get("Vary") != "Origin" {
		t.Errorf("a listed origin gets %v", allowed.header)
	}
	if allowed.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Error("cookies are allowed")
	}
	asked := f.do("", "OPTIONS", "/api/v1/runs", "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST")
	if asked.status != http.StatusNoContent || !strings.Contains(asked.header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("the question before is answered with %d %v", asked.status, asked.header)
	}
	own := "authorization,content-type,x-stainless-os,mcp-protocol-version" // SDKs have many headers of their own
	sdk := f.do("", "OPTIONS", "/v1/chat/completions", "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", own)
	if sdk.status != http.StatusNoContent || sdk.header.Get("Access-Control-Allow-Headers") != own || !strings.Contains(sdk.header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") {
		t.Errorf("an SDK's question before is answered with %d %v", sdk.status, sdk.header)
	}
	unlisted := f.do("", "OPTIONS", "/v1/chat/completions", "", "Origin", "https://evil.example.com", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", own)
	if unlisted.header.Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("another origin may send %v", unlisted.header)
	}
	other := f.do(token, "GET", "/api/v1/runs", "", "Origin", "https://evil.example.com")
	if other.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin gets %v", other.header)
	}
	write := f.do(token, "POST", "/api/v1/runs", `{"flow": "echo"}`, "Origin", "https://evil.example.com", "Sec-Fetch-Site", "cross-site")
	if write.status != http.StatusForbidden {
		t.Errorf("another origin may write: %d %s", write.status, write.text)
	}
}

// TestClientGoesAway stops a chat whose client has left, as a stop button does, and no run
// that was started as one.
func TestClientGoesAway(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	f := newFixture(t, t.TempDir(), g, nil)
	token := f.token("lin", store.Admin)
	leave := func(path, body string) {
		t.Helper()
		before := len(f.runsOf(token, ""))
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if answer, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}()
		f.eventually("a run to begin", func() bool { return len(f.runsOf(token, "")) > before })
		cancel()
		<-done
	}
	leave("/v1/chat/completions", `{"model": "model", "stream": true, "messages": [{"role": "user", "content": "hi"}]}`)
	f.eventually("the chat to be cancelled", func() bool { return len(f.runsOf(token, "cancelled")) == 1 })
	leave("/api/v1/runs?wait=60s", `{"flow": "model"}`)
	if got := len(f.runsOf(token, "running")); got != 1 {
		t.Errorf("%d runs are at work after the client has left", got)
	}
	close(g.open)
	f.eventually("the run to finish", func() bool { return len(f.runsOf(token, "finished")) == 1 })
}

// TestClientsLeaveEarly stops the chats of clients that leave while their runs begin.
func TestClientsLeaveEarly(t *testing.T) {
	f := newFixture(t, t.TempDir(), &gate{open: make(chan struct{})}, nil)
	token := f.token("lin", store.Admin)
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*200*time.Microsecond)
		body := `{"model": "model", "stream": true, "messages": [{"role": "user", "content": "hi"}]}`
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
		cancel()
	}
	f.eventually("the chats to be cancelled", func() bool { return len(f.runsOf(token, "running")) == 0 })
}

// runsOf returns the ids of the runs in a state; "" is any.
func (f *fixture) runsOf(token, state string) (ids []string) {
	f.t.Helper()
	list, _ := f.do(token, "GET", "/api/v1/runs?state="+state, "").doc.Get("items")
	for _, item := range list.List() {
		id, _ := item.Get("run")
		text, _ := id.Str()
		ids = append(ids, text)
	}
	return ids
}

// eventually waits until something is so.
func (f *fixture) eventually(what string, is func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("waited for %s", what)
		}
	}
}

// TestManyReaders follows one run with 1,000 readers, some of which read nothing for long: all get every event,
// none is disconnected.
func TestManyReaders(t *testing.T) {
	const readers, slow = 1000, 50
	g := &gate{open: make(chan struct{})}
	f := newFixture(t, t.TempDir(), g, nil)
	token := f.token("", store.Admin)
	run := f.do(token, "POST", "/api/v1/runs", `{"flow": "model"}`).at("/run")
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 0}}
	defer client.CloseIdleConnections()
	var ready, all sync.WaitGroup
	ready.Add(readers)
	others := make(chan struct{}) // closed when all but the slow ones have read
	var fast sync.WaitGroup
	fast.Add(readers - slow)
	tokens := make([]string, readers/50+1) // the requests of one token are limited
	for i := range tokens {
		tokens[i] = f.token("", store.RunsRead)
	}
	for i := range readers {
		all.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.base+"/api/v1/runs/"+run+"/events", nil)
			if err != nil {
				t.Error(err)
			}
			r.Header.Set("Accept", eventStream)
			r.Header.Set("Authorization", "Bearer "+tokens[i/50])
			answer, err := client.Do(r)
			ready.Done()
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("reader %d: %v, %v", i, answer, err)
				if i >= slow {
					fast.Done()
				}
				return
			}
			defer answer.Body.Close()
			if i < slow {
				<-others
			}
			isOver := false
			for s := bufio.NewScanner(answer.Body); s.Scan(); {
				isOver = isOver || s.Text() == "event: flow.finished"
			}
			if !isOver {
				t.Errorf("reader %d was cut off", i)
			}
			if i >= slow {
				fast.Done()
			}
		})
	}
	ready.Wait()
	close(g.open)
	fast.Wait()
	close(others)
	all.Wait()
}
