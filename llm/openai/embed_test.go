package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/openai"
)

func TestEmbed(t *testing.T) {
	for name, test := range map[string]struct {
		status    int
		body      string
		want      [][]float32
		err       string
		temporary bool
	}{
		"in order":        {200, `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,1]}],"usage":{}}`, [][]float32{{1, 0}, {0, 1}}, "", false},
		"another order":   {200, `{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}],"error":null}`, [][]float32{{1, 0}, {0, 1}}, "", false},
		"without indexes": {200, `{"data":[{"embedding":[1]},{"embedding":[2]}]}`, [][]float32{{1}, {2}}, "", false},
		"fewer":           {200, `{"data":[{"embedding":[1]}]}`, nil, "1 embeddings for 2 texts", true},
		"the same twice":  {200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, nil, "missing", true},
		"far away":        {200, `{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`, nil, "missing", true},
		"an empty one":    {200, `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[1]}]}`, nil, "missing", true},
		"no number":       {200, `{"data":[{"embedding":[NaN]},{"embedding":[1]}]}`, nil, "no embeddings", true},
		"too large":       {200, `{"data":[{"embedding":[1e99]},{"embedding":[1]}]}`, nil, "no embeddings", true},
		"a web page":      {200, `<html><title>Welcome</title></html>`, nil, "Welcome", true},
		"empty":           {200, ``, nil, "no embeddings", true},
		"an error inside": {200, `{"error":{"message":"no such model key-1234","code":404}}`, nil, "no such model ***", false},
		"refused":         {400, `{"error":{"message":"too long"}}`, nil, "too long", false},
		"limited":         {429, `{"error":{"message":"slow down"}}`, nil, "slow down", true},
		"broken":          {500, `oops`, nil, "oops", true},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := openai.New(openai.Config{Name: "p", BaseURL: "http://host/v1/chat/completions?a=b", APIKey: "key-1234", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if got := r.URL.String(); got != "http://host/v1/embeddings?a=b" || r.Header.Get("Authorization") != "Bearer key-1234" {
					t.Errorf("asked %s", got)
				}
				var body map[string]any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(map[string]any{"model": "m", "dimensions": 2.0, "input": []any{"one", "two"}}, body); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				return &http.Response{StatusCode: test.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(test.body)), Request: r}, nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			e := p.Embedder("m", 2)
			if e.Model() != "m/2" || p.Embedder("m", 0).Model() != "m" {
				t.Errorf("the model is %s", e.Model())
			}
			got, err := e.Embed(t.Context(), []string{"one", "two"})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			var known *llm.Error
			switch {
			case test.err == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &known) || !strings.Contains(err.Error(), test.err) || known.Temporary != test.temporary || known.Provider != "p":
				t.Errorf("got %v (%+v)", err, known)
			}
		})
	}
}
