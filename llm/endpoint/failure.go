package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
)

// maxMessage is how much of a server's message people see, in characters.
const maxMessage = 500

var htmlTitle = regexp.MustCompile(`(?is)^\s*<.*?<title>(.*?)</title>`)

// Readable returns a server's text for the message of an error: of a web page the title. [Client.Exchange] masks
// secrets in it and cuts it.
func (c *Client) Readable(text string) string {
	if m := htmlTitle.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	return strings.ToValidUTF8(withoutMarks(text), "\uFFFD")
}

// show returns a message as people may see it: without the secrets of the provider and of the run that ctx
// belongs to, on one line, cut.
func (c *Client) show(ctx context.Context, message string) string {
	if len(message) >= MaxErrorBody {
		message = c.own.MaskCut(secret.FromContext(ctx).MaskCut(message))
	}
	return secret.FromContext(ctx).Line(c.own.MaskText(message), maxMessage)
}

// Unsendable returns the error of a request that is not sent because of err.
func (c *Client) Unsendable(err error) *llm.Error {
	e := &llm.Error{Provider: c.options.Name, Err: err, Unsent: true}
	var wrong *imageError
	if errors.As(err, &wrong) {
		e.Hint = imageHint
	}
	return e
}

// contextError returns the error of a request that ended with its context.
func (c *Client) contextError(err error) *llm.Error {
	return &llm.Error{Provider: c.options.Name, Err: err}
}

// Incomplete returns the error of an answer that is not whole: another try may be.
func Incomplete(format string, args ...any) *llm.Error {
	return (&llm.Error{Temporary: true}).WithMessage(format, args...)
}

// exchangeError returns the error of an exchange in the context inner, which outer contains.
func (c *Client) exchangeError(outer, inner context.Context, err error) *llm.Error {
	if outer.Err() != nil {
		return c.contextError(outer.Err())
	}
	var known *llm.Error
	switch {
	case errors.Is(context.Cause(inner), errSilence):
		return (&llm.Error{
			Provider: c.options.Name, Temporary: true, Hint: "raise the provider's timeout if the model needs longer",
		}).WithMessage("no data from the server for %s", c.options.Timeout)
	case errors.As(err, &known):
		known.Provider = c.options.Name
	default:
		known = c.brokenConnection(err)
	}
	known.ChangeMessage(func(text string) string { return c.show(outer, text) })
	return known
}

// brokenConnection returns the error of a round trip or a read that failed.
func (c *Client) brokenConnection(err error) *llm.Error {
	var location *url.Error
	if errors.As(err, &location) {
		err = location.Err // the rest of it is the URL, which may hold a key
	}
	e := (&llm.Error{Provider: c.options.Name}).WithMessage("%s", textWithoutAddress(err))
	var dial *net.OpError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	wrongCertificate := errors.As(err, &certificate)
	notDialed := errors.As(err, &dial) && dial.Op == "dial"
	e.Unsent = notDialed || wrongCertificate
	switch {
	case errors.Is(err, ErrTooLong): // and it would be again
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Hint = "check the provider's base_url"
	case wrongCertificate, strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		e.Hint = "check the provider's base_url: https or http, and the certificate"
	case location != nil:
		e.Temporary = true
		e.Hint = "is the server at the provider's base_url running?"
	default:
		e.Temporary = true
	}
	return e
}

// textWithoutAddress returns the text of an error of the network without the addresses in it, for example
// "connect: connection refused" for "dial tcp 10.0.0.7:8000: connect: connection refused": users of a server read it,
// and operators find the address in the setting base_url.
func textWithoutAddress(err error) wording.Text {
	var name x509.HostnameError
	var dns *net.DNSError
	var address *net.AddrError
	var operation *net.OpError
	switch {
	case errors.As(err, &name):
		return wording.Say("the certificate of the server is for another host")
	case errors.As(err, &dns) && dns.IsNotFound:
		return wording.Say("there is no such host")
	case errors.As(err, &dns):
		return wording.Say("the host cannot be looked up now")
	case errors.As(err, &address):
		return wording.Say("the server's address is invalid")
	case errors.As(err, &operation):
		return textWithoutAddress(operation.Err)
	}
	return wording.OfError(err)
}

// statusError returns the error of a response with a status other than 2xx.
func (c *Client) statusError(resp *http.Response) *llm.Error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, MaxErrorBody)) // the part that arrived is shown
	e, code := c.errorIn(body)
	e.Status = resp.StatusCode
	e.Temporary = e.Temporary || isTemporary(e.Status)
	e.RetryAfter = llm.RetryAfter(resp.Header, time.Now())
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	if e.Status < 400 {
		e = e.WithMessage("the server redirects to another place")
		e.Hint = "set the provider's base_url to where the API really is"
		return e
	}
	c.addHint(e, code, body)
	return e
}

// addHint adds the remedy for a refusal.
func (c *Client) addHint(e *llm.Error, code string, body []byte) {
	if isExhausted(body) {
		e.Temporary, e.Exhausted = false, true
		e.Hint = "the account has no credit left: see the vendor's billing page"
		return
	}
	if c.options.Hint != nil {
		e.Hint = c.options.Hint(e.Status, code, e.Message)
	}
	if e.Hint != "" {
		return
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Hint = "check the provider's API key"
	case http.StatusNotFound:
		e.Hint = "check the provider's base_url and the name of the model"
	case http.StatusRequestEntityTooLarge:
		e.Hint = "the request is too large: send less history or smaller images"
	}
}

// Reported returns the error that a server reports inside an answer.
func (c *Client) Reported(data []byte) *llm.Error {
	e, code := c.errorIn(data)
	if isExhausted(data) {
		e.Temporary, e.Exhausted = false, true
	}
	if e.Message == "" {
		e.Message = c.Readable(string(data))
	}
	if c.options.Hint != nil {
		e.Hint = c.options.Hint(e.Status, code, e.Message)
	}
	return e
}

// isTemporary reports whether a request that got the status may be answered later.
func isTemporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented
}

// temporaryTypes are parts of the names that vendors give to errors that pass.
var temporaryTypes = regexp.MustCompile(`overloaded|rate_limit|^server_error|^api_error|^timeout_error`)

// isExhausted reports that no retry helps although the status is 429 or 400.
func isExhausted(body []byte) bool {
	return strings.Contains(string(body), "insufficient_quota") || strings.Contains(string(body), "credit balance is too low")
}

// errorIn finds the error in a body, in the forms that servers have for it: {error: {message, code, type}},
// {error: text}, {message}, {detail}, or plain text. code is the vendor's code, else the type of the error.
func (c *Client) errorIn(body []byte) (e *llm.Error, code string) {
	e = &llm.Error{Provider: c.options.Name}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		e.Message = c.Readable(string(body))
		return e, ""
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
	code = strings.Trim(string(inner.Code), `"`)
	if code == "null" {
		code = ""
	}
	status, err := strconv.Atoi(code)
	isStatus := err == nil && status >= 400 && status < 600
	if isStatus {
		e.Status = status
		e.Temporary = isTemporary(status)
	}
	if !isStatus && !strings.Contains(text, code) {
		text += " (" + code + ")"
	}
	if temporaryTypes.MatchString(inner.Type) || temporaryTypes.MatchString(code) {
		e.Temporary = true
	}
	e.Message = c.Readable(text)
	if code == "" {
		code = inner.Type
	}
	return e, code
}
