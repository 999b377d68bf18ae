package endpoint

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value/secret"
)

// The message of a server is cut after the secrets in it are masked: the provider's key, and the run's secrets.
func TestSecretsInMessages(t *testing.T) {
	const own, ofRun = "sk-own-1122334455", "sk-run-5544332211"
	body := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	client := NewClient(Options{Name: "local", Secrets: []string{own}})
	ctx := secret.NewContext(t.Context(), secret.SetOf(ofRun))
	read := func(r io.Reader) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return client.Reported(data)
	}
	for _, key := range []string{own, ofRun} {
		for offset := maxMessage - len(key) - 5; offset <= maxMessage; offset++ {
			for _, format := range []string{"%s", `{"error": {"message": %q}}`, "<html><title>%s</title>"} {
				body = fmt.Sprintf(format, strings.Repeat("w", offset)+key+" and more")
				failure := client.Post(ctx, server.URL, nil, read)
				for _, language := range []string{"en", "zh"} {
					if text := failure.In(language); strings.Contains(text, key[:4]) || !strings.Contains(text, "www") {
						t.Fatalf("the key at %d of %q: %s", offset, format, text)
					}
				}
			}
		}
		body = strings.Repeat(" ", MaxErrorBody-8) + key // only a part of it is read
		if text := client.Post(ctx, server.URL, nil, read).Error(); strings.Contains(text, key[:4]) {
			t.Errorf("where the body is cut: %s", text)
		}
	}
}
