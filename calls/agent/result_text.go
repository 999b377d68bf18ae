package agent

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// resultText returns the output of a tool as the model reads it: the body of an HTTP request; the text of a tool
// of an MCP server with a note for each part that is not text; for other tools the text if they have nothing else,
// else JSON.
func (t toolPlan) resultText(output value.Value) string {
	switch {
	case t.call == callHTTP:
		return responseText(output, t.resultHeaders)
	case strings.HasPrefix(t.call, callMCP) && isAnswer(output):
		return partsText(output)
	}
	return plainText(output)
}

// responseText returns the body of a response: JSON as JSON, text unchanged. If the status is not 2xx, it is
// added, and so are the headers that the flow names.
func responseText(output value.Value, headers []string) string {
	body, _ := output.Get("body")
	status, _ := output.Get("status")
	code, _ := strconv.Atoi(status.JSON())
	given, _ := output.Get("headers")
	m := value.NewMap(4)
	if code < 200 || code > 299 {
		m.Set("status", status)
		m.Set("reason", value.OfString(http.StatusText(code)))
	}
	named := value.NewMap(len(headers))
	for _, name := range headers {
		if text, ok := given.Get(strings.ToLower(name)); ok {
			named.Set(name, text)
		}
	}
	if named.Len() > 0 {
		m.Set("headers", value.OfMap(named))
	}
	if m.Len() == 0 {
		return body.PlainText()
	}
	m.Set("body", body)
	return value.OfMap(m).JSON()
}

// isAnswer reports whether an output has the members of an answer of an MCP server. The mock of a test may be anything.
func isAnswer(output value.Value) bool {
	return slices.ContainsFunc([]string{"text", "data", "content"}, func(name string) bool { _, has := output.Get(name); return has })
}

// partsText returns the answer of a tool of an MCP server: its texts, its structured content unless the texts
// repeat it, and a note such as [image/png, 70 bytes] for each other part.
func partsText(output value.Value) string {
	var lines []string
	text, _ := output.Get("text")
	if said, _ := text.Str(); said != "" {
		lines = append(lines, said)
	}
	if data, ok := output.Get("data"); ok && !data.IsNull() {
		said, _ := text.Str()
		if same, err := value.ParseJSON([]byte(said)); err != nil || !value.Equal(same, data) {
			lines = append(lines, data.JSON())
		}
	}
	content, _ := output.Get("content")
	for _, part := range content.List() {
		lines = append(lines, partText(part))
	}
	return strings.Join(lines, "\n")
}

// partText returns the text of a part that is not plain text, or a note that describes it.
func partText(part value.Value) string {
	member := func(v value.Value, name string) string {
		m, _ := v.Get(name)
		text, _ := m.Str()
		return text
	}
	kind := member(part, "type")
	inner, isResource := part.Get("resource")
	if text := member(inner, "text"); isResource && text != "" {
		return text
	}
	var words []string
	for _, word := range []string{
		member(part, "name"), member(part, "uri"), member(inner, "uri"), member(part, "mimeType"), member(inner, "mimeType"),
	} {
		if word != "" {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		words = append(words, kind)
	}
	for _, data := range []string{member(part, "data"), member(inner, "blob")} {
		if data != "" {
			words = append(words, strconv.Itoa(base64.StdEncoding.DecodedLen(len(data))-strings.Count(data, "="))+" bytes")
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}
