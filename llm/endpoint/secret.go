package endpoint

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var secretName = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password`)

// minSecret is the least length of a secret beside the key: a header such as
// "X-Auth-Mode: on" makes no secret of every "on" in a record.
const minSecret = 6

// SecretsOf returns the texts of a configuration that nothing may show, the longest
// first: the key, the values of headers and query parameters with telling names, the
// password in the address.
func SecretsOf(key string, headers []Header, address *url.URL) []string {
	secrets := []string{key}
	add := func(text string) {
		if len(text) >= minSecret && !strings.EqualFold(text, "bearer") {
			secrets = append(secrets, text)
		}
	}
	for _, h := range headers {
		if secretName.MatchString(h.Name) {
			add(h.Value)
			for _, word := range strings.Fields(h.Value) {
				add(word)
			}
		}
	}
	if password, ok := address.User.Password(); ok {
		add(password)
	}
	for name, values := range address.Query() {
		if secretName.MatchString(name) {
			for _, text := range values {
				add(text)
			}
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(secrets)
}
