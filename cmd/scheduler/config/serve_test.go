package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServeSettings reads the settings of the server, and refuses meaningless ones.
func TestServeSettings(t *testing.T) {
	load := func(text string) (*Settings, error) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(Place{File: file}, nil)
	}
	c, err := load(`serve: {prune: {older_than: 24h}, notify: [{url: "https://example.com/hook", on: [waiting], secret_env: KEY}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if time.Duration(c.Serve.Prune.OlderThan) != 24*time.Hour || c.Serve.Prune.Keep != 10000 || c.Serve.Notify[0].SecretEnv != "KEY" {
		t.Errorf("got %+v", c.Serve)
	}
	for text, want := range map[string]string{`serve: {openai: {tasks_llm: echo}}`: "[echo]", `serve: {openai: {tasks_llm: [echo]}}`: "[echo]", `serve: {openai: {tasks_llm: ""}}`: "[]"} {
		if c, err := load(text); err != nil || fmt.Sprint(c.Serve.OpenAI.TasksLLM) != want {
			t.Errorf("%s: got %+v, %v", text, c, err)
		}
	}
	for text, want := range map[string]string{
		`serve: {notify: [{url: example.com, on: [waiting], secret_env: KEY}]}`:                       "this is not a URL",
		`serve: {notify: [{url: "https://example.com", on: [], secret_env: KEY}]}`:                    "no state is named (use waiting, failed, finished, stuck, trigger)",
		`serve: {notify: [{url: "https://example.com", on: [finishd], secret_env: KEY}]}`:             `did you mean "finished"?`,
		`serve: {notify: [{url: "https://example.com", on: [waiting]}]}`:                              "secret_env",
		`serve: {notify: [{url: "https://example.com", url_env: U, on: [waiting], secret_env: KEY}]}`: "settings.yaml:1:56: serve.notify[0].url_env: url and url_env are both given",
		`serve: {notify: [{on: [waiting], secret_env: KEY}]}`:                                         "settings.yaml:1:18: serve.notify[0]: url is missing",
		`serve: {openai: {tasks_llm: [echo, ecoh]}}`:                                                  `unknown provider "ecoh" (did you mean "echo"?)`,
		`serve: {prune: {older: 1h}}`:                                                                 "older",
		`serve: {notify: [{url: "ftp://example.com/hook", on: [waiting], secret_env: KEY}]}`:          "this is not a URL",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestNotifyAddress reads the URL of notifications from a variable; no error shows it.
func TestNotifyAddress(t *testing.T) {
	n := &Notify{URLEnv: "TEST_NOTIFY_URL"}
	for text, want := range map[string]string{
		"":                            "serve.notify: url_env: the environment variable TEST_NOTIFY_URL is not set",
		"ftp://secret":                "serve.notify: url_env: the environment variable TEST_NOTIFY_URL does not hold a URL",
		"https://example.com/?secret": "",
	} {
		t.Setenv("TEST_NOTIFY_URL", text)
		got, err := n.Address()
		if want == "" {
			if err != nil || got != text {
				t.Errorf("%q: got %q, %v", text, got, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
