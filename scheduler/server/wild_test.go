package server_test

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// newWildFixture starts a server with the flows of a folder of test/wild/files beside the tests' flows.
func newWildFixture(t *testing.T, folder string) *fixture {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../../test/wild/files", folder))); err != nil {
		t.Fatal(err)
	}
	return newFixture(t, dir, nil, func(o *server.Options) {
		o.Secret = func(name string) (string, bool) { return "ghsecret12345", name == "GH_KEY" }
	})
}

// TestWildFlows: programs write flows as JSON, which is YAML.
func TestWildFlows(t *testing.T) {
	f := newWildFixture(t, "serve-json-flow")
	list := f.do(f.token("", store.Admin), "GET", "/api/v1/flows", "")
	if !strings.Contains(list.text, `"flow":"c"`) {
		t.Errorf("the flow c is missing in %s", list.text)
	}
}

// TestWildDeliveries sends webhooks as GitHub, old programs and attackers do.
func TestWildDeliveries(t *testing.T) {
	f := newWildFixture(t, "webhook-bodies")
	admin := f.token("", store.Admin)
	const form = "payload=%7B%22action%22%3A%22opened%22%7D"
	sign := func(body string) string {
		mac := hmac.New(sha256.New, []byte("ghsecret12345"))
		_, _ = mac.Write([]byte(body))
		return "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	pack := func(text string) string {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return out.String()
	}
	const plain, urlencoded = "text/plain", "application/x-www-form-urlencoded"
	for name, test := range map[string]struct {
		hook, body string
		header     []string
		status     int
		want       string // the text that the flow got, or a part of the problem
	}{
		"a form of GitHub":    {"gh", form, []string{"X-Hub-Signature-256", sign(form), "X-GitHub-Event", "issues", "Content-Type", urlencoded}, 202, "got opened"},
		"gzip":                {"open", pack("hello"), []string{"Content-Encoding", "gzip", "Content-Type", plain}, 202, "got hello"},
		"a signed gzip":       {"gh", pack(`{"action":"closed"}`), []string{"X-Hub-Signature-256", sign(pack(`{"action":"closed"}`)), "Content-Encoding", "gzip", "Content-Type", "application/json"}, 202, "got closed"},
		"a bomb":              {"open", pack(strings.Repeat("x", 4<<20)), []string{"Content-Encoding", "gzip", "Content-Type", plain}, 413, "has more than 1048576 bytes, unpacked"},
		"no gzip":             {"open", "hello", []string{"Content-Encoding", "gzip", "Content-Type", plain}, 422, "is not gzip"},
		"brotli":              {"open", "hello", []string{"Content-Encoding", "br", "Content-Type", plain}, 415, `compressed as \"br\"`},
		"Latin-1":             {"open", "caf\xe9", []string{"Content-Type", "text/plain; charset=iso-8859-1"}, 202, "got café"},
		"JSON in GBK":         {"json", "{\"text\":\"\xc4\xe3\xba\xc3\"}", []string{"Content-Type", "application/json; charset=gbk"}, 202, "got 你好"},
		"a byte-order mark":   {"json", "\ufeff{\"text\":\"hi\"}", []string{"Content-Type", "application/json"}, 202, "got hi"},
		"an unknown charset":  {"open", "hello", []string{"Content-Type", "text/plain; charset=klingon"}, 415, "unknown charset"},
		"no charset":          {"open", "caf\xe9", []string{"Content-Type", plain}, 415, "1:4: the text is not UTF-8 here"},
		"half of a character": {"json", `{"text":"\ud83d"}`, []string{"Content-Type", "application/json"}, 422, "half of a character"},
		"a key twice":         {"json", `{"text":"a","text":"b"}`, []string{"Content-Type", "application/json"}, 422, "duplicate key"},
		"another member":      {"json", `{"test":"a"}`, []string{"Content-Type", "application/json"}, 422, "does not have what the webhook takes"},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.do("", "POST", "/hooks/hook/"+test.hook, test.body, test.header...)
			if got.status != test.status || strings.Contains(got.text, f.dir) {
				t.Fatalf("got %d %s, want %d", got.status, got.text, test.status)
			}
			said := got.text
			if got.status == http.StatusAccepted {
				f.do(admin, "GET", "/api/v1/runs/"+got.at("/run")+"/events", "", "Accept", eventStream)
				said = f.do(admin, "GET", "/api/v1/runs/"+got.at("/run")+"/steps/a", "").at("/output/text")
			}
			if !strings.Contains(said, test.want) {
				t.Errorf("got %s, want %s", said, test.want)
			}
		})
	}
}
