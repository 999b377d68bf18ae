package wire

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/callnode/scheduler/llm/endpoint"
)

// minKey is the least length of a key that is masked in every text.
const minKey = 8

// keys returns the texts that are masked in every run: the keys that the program signs in with at model providers and
// MCP servers, and the secrets of the settings, which a run may receive although its flow does not read them. A
// word such as "ollama", the key of servers that want none, is not one: it is in texts by chance.
func (rt *Runtime) keys() (all []string) {
	for i := range rt.settings.LLM.Providers {
		p, err := rt.settings.LLM.Providers[i].Open()
		if err != nil {
			continue // its key is not set, so that it has none to hide
		}
		all = append(all, secretsOf(p)...)
	}
	for i := range rt.settings.MCP.Servers {
		s := rt.settings.MCP.Servers[i].Server()
		var given []endpoint.Header
		for name, variable := range s.Headers {
			given = append(given, endpoint.Header{Name: name, Value: os.Getenv(variable)})
		}
		for _, variable := range s.Env {
			given = append(given, endpoint.Header{Name: variable, Value: os.Getenv(variable)})
		}
		all = append(all, endpoint.SecretsOf("", given, &url.URL{})...)
	}
	for _, name := range rt.settings.Secrets { // a user may say one that the flow does not read
		all = append(all, os.Getenv(name))
	}
	return slices.DeleteFunc(all, func(text string) bool {
		isWord := !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
		return len(text) < minKey || isWord
	})
}
