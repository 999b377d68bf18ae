package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/openai"
)

// bench is a processor with a model of concepts and a clock of its own.
type bench struct {
	*testing.T
	*memory.SnapshotProcessor
	model *memorytest.Embedder
	now   time.Time
}

func newBench(t *testing.T, store memory.Store) *bench {
	b := &bench{T: t, model: &memorytest.Embedder{Name: "one"}, now: memorytest.Start}
	b.SnapshotProcessor = &memory.SnapshotProcessor{Store: store, Clock: func() time.Time { return b.now }, Embeddings: &memory.Embeddings{Embedder: b.model}}
	return b
}

func (b *bench) save(texts ...string) {
	b.Helper()
	for i, text := range texts {
		_, err := b.ProcessMemory(b.Context(), memory.BaseMemory{Content: text, Context: memory.Context{UserID: "ann", SessionID: fmt.Sprint(i)}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bench) run() memory.Report {
	b.Helper()
	report, err := b.SnapshotProcessor.Run(b.Context(), memory.AllUsers(), false)
	if err != nil {
		b.Fatal(err)
	}
	return report
}

// find returns the contents of the memories found, and the notes.
func (b *bench) find(text string) (contents []string, notes string) {
	b.Helper()
	found, err := b.GetRelevantMemories(b.Context(), &memory.Query{Users: memory.User("ann"), Text: text, Now: b.now, MinRelevance: memory.DefaultMinRelevance})
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range found.Memories {
		contents = append(contents, s.Memory.Content)
	}
	return contents, strings.Join(found.Notes, "; ")
}

func (b *bench) waiting(want int) {
	b.Helper()
	st, err := b.Store.Stats(b.Context(), memory.AllUsers())
	if err != nil || st.Unembedded != want {
		b.Errorf("%d memories wait, want %d; %v", st.Unembedded, want, err)
	}
}

const (
	ride  = "I take my two-wheeler every morning."
	train = "The train leaves at nine."
)

func TestEmbeddings(t *testing.T) {
	b := newBench(t, memorytest.NewStore(t, nil))
	if got, notes := b.find("Does she go cycling?"); len(got) > 0 || notes != "" {
		t.Errorf("of an empty store: %q, %q", got, notes)
	}
	b.save(ride, train)
	got, notes := b.find("Does she go cycling?")
	if len(got) > 0 || !strings.Contains(notes, "not embedded by one yet") {
		t.Errorf("before: %q, %q", got, notes)
	}
	if _, notes := b.find("自行车"); !strings.Contains(notes, "尚未") {
		t.Errorf("before, in Chinese: %q", notes)
	}
	if r := b.run(); r.Embedded != 2 || r.NotEmbedded != "" {
		t.Errorf("%+v", r)
	}
	if got, notes := b.find("Does she go cycling?"); !slices.Equal(got, []string{ride}) || notes != "" {
		t.Errorf("after: %q, %q", got, notes)
	}
	if got, notes := b.find(" "); len(got) > 0 || notes != "" {
		t.Errorf("of nothing: %q, %q", got, notes)
	}
	asked := len(b.model.Asked())
	if r := b.run(); r.Embedded != 0 || len(b.model.Asked()) != asked {
		t.Errorf("again: %+v", r)
	}
	// A question that says little is asked with the one before it.
	found, err := b.GetRelevantMemories(t.Context(), &memory.Query{Users: memory.User("ann"), Text: "And when?", Earlier: []string{"Does she go cycling?"}, Now: b.now, MinRelevance: 0.5})
	if err != nil || len(found.Memories) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	// Another model embeds everything again.
	b.model = &memorytest.Embedder{Name: "two"}
	b.Embeddings = &memory.Embeddings{Embedder: b.model}
	b.save("Loves the ocean.")
	if _, notes := b.find("sea"); !strings.Contains(notes, "by two yet") {
		t.Errorf("another model: %q", notes)
	}
	if r := b.run(); r.Embedded != 3 {
		t.Errorf("another model: %+v", r)
	}
	if _, err := b.SnapshotProcessor.Run(t.Context(), memory.Users{}, false); err == nil {
		t.Error("running unscoped")
	}
}

// TestEmbeddingFaults: whatever the model does, saving and searching go on, and when it works again no vector is
// missing.
func TestEmbeddingFaults(t *testing.T) {
	for name, fault := range map[string]func(ctx context.Context, texts []string, vectors [][]float32) ([][]float32, error){
		"down": func(context.Context, []string, [][]float32) ([][]float32, error) { return nil, errors.New("no route") },
		"temporary": func(context.Context, []string, [][]float32) ([][]float32, error) {
			return nil, &llm.Error{Temporary: true, Message: "busy"}
		},
		"refusing": func(context.Context, []string, [][]float32) ([][]float32, error) {
			return nil, &llm.Error{Message: "no key"}
		},
		"slow": func(ctx context.Context, _ []string, _ [][]float32) ([][]float32, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"dimensions": func(_ context.Context, _ []string, v [][]float32) ([][]float32, error) {
			for i := range v {
				v[i] = v[i][:7]
			}
			return v, nil
		},
		"NaN": func(_ context.Context, _ []string, v [][]float32) ([][]float32, error) {
			v[0][1] = float32(math.NaN())
			return v, nil
		},
		"zero": func(_ context.Context, _ []string, v [][]float32) ([][]float32, error) {
			v[0] = make([]float32, len(v[0]))
			return v, nil
		},
		"fewer": func(_ context.Context, _ []string, v [][]float32) ([][]float32, error) { return v[1:], nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, memorytest.NewStore(t, nil))
			b.run() // the model is measured
			b.Embeddings.Timeout = time.Millisecond
			b.model.Fault = fault
			b.save(ride, train)
			if r := b.run(); r.Embedded != 0 || r.NotEmbedded == "" && name != "refusing" {
				t.Errorf("%+v", r)
			}
			b.waiting(2)
			asked := len(b.model.Asked())
			if r := b.run(); name != "refusing" && (r.NotEmbedded == "" || len(b.model.Asked()) != asked) {
				t.Errorf("drained again at once: %+v", r)
			}
			b.now = b.now.Add(20 * time.Second)
			got, notes := b.find("When does the train leave?")
			if !slices.Equal(got, []string{train}) || !strings.Contains(notes, "not available") {
				t.Errorf("%q, %q", got, notes)
			}
			before := len(b.model.Asked())
			if _, notes := b.find("train"); notes == "" || name != "refusing" && len(b.model.Asked()) != before {
				t.Errorf("it is asked again at once: %q", notes)
			}
			b.model.Fault, b.Embeddings.Timeout = nil, 0
			for range 3 {
				b.now = b.now.Add(2 * time.Hour)
				b.run()
			}
			b.waiting(0)
			if got, notes := b.find("Does she go cycling?"); !slices.Equal(got, []string{ride}) || notes != "" {
				t.Errorf("well again: %q, %q", got, notes)
			}
		})
	}
}

// TestEmbeddingPoison: one text that the model refuses does not hold up the others.
func TestEmbeddingPoison(t *testing.T) {
	b := newBench(t, memorytest.NewStore(t, nil))
	b.model.Fault = func(_ context.Context, texts []string, v [][]float32) ([][]float32, error) {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "poison") }) {
			return nil, &llm.Error{Message: "refused", Status: 400}
		}
		return v, nil
	}
	b.save("poison", ride, train)
	b.run()
	b.waiting(3)
	b.now = b.now.Add(time.Minute)
	if r := b.run(); r.Embedded != 2 {
		t.Errorf("%+v", r)
	}
	b.waiting(1)
}

// TestEmbeddingStopped: memories that were being embedded when the process ended are not lost.
func TestEmbeddingStopped(t *testing.T) {
	dir := t.TempDir()
	open := func() *sqlmemory.Store {
		s, err := sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	b := newBench(t, s)
	b.run()
	b.save(ride, train)
	ctx, cancel := context.WithCancel(t.Context())
	b.model.Fault = func(context.Context, []string, [][]float32) ([][]float32, error) {
		cancel()
		return nil, ctx.Err()
	}
	if _, err := b.SnapshotProcessor.Run(ctx, memory.AllUsers(), false); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	b.waiting(2)
	// And a run that was killed in the middle.
	if list, err := s.Unembedded(t.Context(), memory.Claim{Now: b.now, Users: memory.AllUsers(), Lease: time.Minute}, 9); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	b.Store, b.model.Fault = s, nil
	if r := b.run(); r.Embedded != 0 {
		t.Errorf("reserved: %+v", r)
	}
	b.now = b.now.Add(2 * time.Minute)
	if r := b.run(); r.Embedded != 2 {
		t.Errorf("after the lease: %+v", r)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestEmbeddingServer asks a server that behaves badly in the ways of HTTP.
func TestEmbeddingServer(t *testing.T) {
	var answer func(w http.ResponseWriter, r *http.Request)
	well := func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request.Model != "small" || r.URL.Path != "/v1/embeddings" {
			t.Errorf("%s: %+v, %v", r.URL, request, err)
		}
		type item struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var out struct {
			Data []item `json:"data"`
		}
		for i, text := range request.Input {
			out.Data = append(out.Data, item{i, memorytest.Meaning(text)})
		}
		if err := json.NewEncoder(w).Encode(out); err != nil {
			t.Error(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer server.Close()
	provider, err := openai.New(openai.Config{Name: "local", BaseURL: server.URL + "/v1", APIKey: "key-1234"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, memorytest.NewStore(t, nil))
	b.Embeddings = &memory.Embeddings{Embedder: provider.Embedder("small", 0), Timeout: 5 * time.Second}
	answer = well
	b.run()
	b.save(ride, train)
	if r := b.run(); r.Embedded != 2 {
		t.Fatalf("%+v", r)
	}
	if got, notes := b.find("cycling"); !slices.Equal(got, []string{ride}) || notes != "" {
		t.Errorf("%q, %q", got, notes)
	}
	status := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, `{"error":{"message":"for key-1234"}}`)
		}
	}
	for name, bad := range map[string]func(http.ResponseWriter, *http.Request){
		"500": status(500), "429": status(429), "401": status(401),
		"nothing":  func(http.ResponseWriter, *http.Request) {},
		"not JSON": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") },
		"no vector": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"data":[]}`)
		},
		"huge": func(w http.ResponseWriter, r *http.Request) {
			piece := strings.Repeat(" ", 1<<20)
			for range 70 {
				if _, err := io.WriteString(w, piece); err != nil || r.Context().Err() != nil {
					return
				}
			}
		},
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"data":[`)
		},
	} {
		answer = bad
		b.now = b.now.Add(time.Hour)
		got, notes := b.find("When does the train leave?")
		if !slices.Equal(got, []string{train}) || !strings.Contains(notes, "not available") || strings.Contains(notes, "1234") {
			t.Errorf("%s: %q, %q", name, got, notes)
		}
	}
	server.Close()
	b.now = b.now.Add(time.Hour)
	if got, notes := b.find("When does the train leave?"); !slices.Equal(got, []string{train}) || !strings.Contains(notes, "not available") {
		t.Errorf("closed: %q, %q", got, notes)
	}
}
