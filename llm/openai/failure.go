package openai

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm"
)

// maxMessage is how much of a server's message people see, in characters.
const maxMessage = 500

const mask = "***"

var secretHeader = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password`)

// secretsOf returns the texts of a configuration that nothing may show, the longest
// first.
func secretsOf(config Config, endpoint *url.URL) []string {
	secrets := []string{config.APIKey}
	for _, h := range config.Headers {
		if secretHeader.MatchString(h.Name) {
			secrets = append(secrets, h.Value)
			secrets = append(secrets, strings.Fields(h.Value)...)
		}
	}
	if password, ok := endpoint.User.Password(); ok {
		secrets = append(secrets, password)
	}
	for name, values := range endpoint.Query() {
		if secretHeader.MatchString(name) {
			secrets = append(secrets, values...)
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool {
		return s == "" || strings.EqualFold(s, "bearer") || strings.EqualFold(s, "basic")
	})
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// newMask returns the replacer that keeps secrets out of messages, also when a server
// echoes them. It takes the first that fits: the longest must come first.
func newMask(secrets []string) *strings.Replacer {
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, mask)
		if escaped := url.QueryEscape(s); escaped != s {
			pairs = append(pairs, escaped, mask)
		}
	}
	return strings.NewReplacer(pairs...)
}

var htmlTitle = regexp.MustCompile(`(?is)^\s*<.*?<title>(.*?)</title>`)

// say makes a server's text readable: without secrets, of a web page the title,
// on one line, cut.
func (p *Provider) say(text string) string {
	if m := htmlTitle.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	text = strings.Join(strings.Fields(p.mask.Replace(strings.ToValidUTF8(text, "\uFFFD"))), " ")
	if utf8.RuneCountInString(text) > maxMessage {
		text = string([]rune(text)[:maxMessage]) + " ..."
	}
	return text
}

func (p *Provider) failure(err error) *llm.Error {
	return &llm.Error{Provider: p.config.Name, Message: p.say(err.Error())}
}

// ended is the error of a request whose context ended.
func (p *Provider) ended(err error) *llm.Error { return &llm.Error{Provider: p.config.Name, Err: err} }

// cut is the error of an answer that is not whole: another try may be.
func cut(message string) *llm.Error { return &llm.Error{Message: message, Temporary: true} }

// invalid is the error of a body that is no answer.
func (p *Provider) invalid(body []byte) *llm.Error {
	return &llm.Error{
		Message: "the server's answer is no chat completion: " + p.say(string(body[:min(len(body), maxErrorBody)])),
		Hint:    "does base_url point to an OpenAI-compatible API? It often ends in /v1",
	}
}

// broken is the error of a round trip or a read that failed.
func (p *Provider) broken(outer, ctx context.Context, err error) *llm.Error {
	var known *llm.Error
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var location *url.Error
	switch {
	case outer.Err() != nil:
		return p.ended(outer.Err())
	case errors.Is(context.Cause(ctx), errSilence):
		return &llm.Error{
			Provider: p.config.Name, Temporary: true,
			Message: fmt.Sprintf("no data from the server for %s", p.config.Timeout),
			Hint:    "raise the provider's timeout if the model needs longer",
		}
	case errors.As(err, &known):
		known.Provider = p.config.Name
		return known
	case errors.As(err, &location):
		err = location.Err // the rest of it is the URL, which may hold a key
	}
	e := p.failure(err)
	var dial *net.OpError
	e.Unsent = errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &certificate)
	switch {
	case errors.Is(err, errTooLong): // and it would be again
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Hint = "check the provider's base_url"
	case errors.As(err, &certificate), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		e.Hint = "check the provider's base_url: https or http, and the certificate"
	case location != nil:
		e.Temporary = true
		e.Hint = "is the server at the provider's base_url running?"
	default:
		e.Temporary = true
	}
	return e
}

// refusal is the error of a response whose status is not 2xx.
func (p *Provider) refusal(resp *http.Response) *llm.Error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what came is shown
	e := p.fromBody(body)
	e.Status = resp.StatusCode
	e.Temporary = e.Temporary || temporary(e.Status)
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	switch {
	case e.Status < 400:
		e.Message = "the server redirects to another place"
		if to, err := resp.Location(); err == nil {
			e.Message = p.say("the server redirects to " + to.Scheme + "://" + to.Host + to.Path)
		}
		e.Hint = "set the provider's base_url to where the API really is"
	case exhausted(body):
		e.Temporary = false
		e.Hint = "the account has no credit left: see the vendor's billing page"
	case e.Hint != "":
	case strings.Contains(e.Message, "max_completion_tokens"):
		e.Hint = "give extra: {max_tokens: null, max_completion_tokens: ...} instead of max_tokens"
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		e.Hint = "check the provider's API key"
	case e.Status == http.StatusNotFound:
		e.Hint = "check the provider's base_url and the name of the model"
	case e.Status == http.StatusRequestEntityTooLarge:
		e.Hint = "the request is too large: send less history or smaller images"
	}
	return e
}

// reported is the error that a server reports inside an answer.
func (p *Provider) reported(data []byte) *llm.Error {
	e := p.fromBody(data)
	if exhausted(data) {
		e.Temporary = false
	}
	if e.Message == "" {
		e.Message = p.say(string(data))
	}
	return e
}

func temporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented
}

// exhausted says that no retry helps although the status is 429.
func exhausted(body []byte) bool { return strings.Contains(string(body), "insufficient_quota") }

// fromBody finds the message in the forms that servers give it: {error: {message,
// code, type}}, {error: text}, {message}, {detail}, or plain text.
func (p *Provider) fromBody(body []byte) *llm.Error {
	e := &llm.Error{Provider: p.config.Name}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		e.Message = p.say(string(body))
		return e
	}
	var inner struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	var text string
	switch {
	case json.Unmarshal(outer.Error, &text) == nil && text != "":
	case json.Unmarshal(outer.Error, &inner) == nil && inner.Message != "":
		text = inner.Message
	case outer.Message != "":
		text = outer.Message
	case json.Unmarshal(outer.Detail, &text) == nil && text != "":
	default:
		text = string(body)
	}
	code := strings.Trim(string(inner.Code), `"`)
	if status, err := strconv.Atoi(code); err == nil && status >= 400 && status < 600 {
		e.Status = status
		e.Temporary = temporary(status)
	} else if code != "" && code != "null" && !strings.Contains(text, code) {
		text += " (" + code + ")"
	}
	if strings.Contains(inner.Type+code, "overloaded") || strings.Contains(inner.Type+code, "rate_limit") || inner.Type == "server_error" {
		e.Temporary = true
	}
	if strings.Contains(code, "context_length") {
		e.Hint = "the prompt is too long for the model: give it less history, or a max_tokens budget"
	}
	e.Message = p.say(text)
	return e
}

// maxRetryAfter bounds what is believed of a server's wish to wait.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads how long a server wants to be left alone: retry-after-ms, or
// Retry-After in seconds or as a date, which counts from the server's own clock
// where it tells that.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return clamp(ms / 1000)
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return clamp(seconds)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return clamp(at.Sub(now).Seconds())
}

func clamp(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN is none either
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
