package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
)

// The ways in which a webhook proves its sender.
const (
	// VerifyStandard is the signature of Standard Webhooks.
	VerifyStandard = "standard"
	// VerifyGitHub is the signature of GitHub, in X-Hub-Signature-256.
	VerifyGitHub = "github"
	// VerifyHeader is the secret itself, in a header.
	VerifyHeader = "header"
	// VerifyNone requires no proof.
	VerifyNone = "none"
)

// DefaultHeader is the header of [VerifyHeader] if the flow names none.
const DefaultHeader = "X-Webhook-Token"

// The headers of Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// maxSkew is how far the time of a request may be from ours.
const maxSkew = 5 * time.Minute

// Verification is how the requests of a webhook are checked.
type Verification struct {
	// Way is one of the ways to verify.
	Way string
	// Header is the header for [VerifyHeader].
	Header string
	// Secret is the value of the secret.
	Secret string
}

// Check returns an error if the sender of a request did not know the secret. The error is of kind Invalid; it does
// not say which part is wrong, so that it helps no attacker.
func (v *Verification) Check(header http.Header, body []byte, now time.Time) error {
	if v.Way == VerifyNone {
		return nil
	}
	if v.Secret == "" {
		return calls.Errorf(calls.Internal, "the secret of the webhook is not set")
	}
	good := false
	switch v.Way {
	case VerifyStandard:
		return v.checkStandard(header, body, now)
	case VerifyGitHub:
		want := "sha256=" + hex.EncodeToString(sign([]byte(v.Secret), body))
		good = equal(header.Get("X-Hub-Signature-256"), want)
	case VerifyHeader:
		good = equal(header.Get(v.Header), v.Secret)
	}
	if !good {
		return calls.Errorf(calls.Invalid, "the signature of the request is missing or wrong")
	}
	return nil
}

// checkStandard checks the signature of Standard Webhooks: one of the listed signatures must be right, because a
// secret may be replaced step by step.
func (v *Verification) checkStandard(header http.Header, body []byte, now time.Time) error {
	id, timestamp := header.Get(headerID), header.Get(headerTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" {
		return calls.Errorf(calls.Invalid, "the request lacks webhook-id or webhook-timestamp")
	}
	want, err := SignStandard(v.Secret, id, time.Unix(seconds, 0), body)
	if err != nil {
		return err
	}
	matches := func(signature string) bool { return equal(signature, want) }
	if !slices.ContainsFunc(strings.Fields(header.Get(headerSignature)), matches) {
		return calls.Errorf(calls.Invalid, "the signature of the request is missing or wrong")
	}
	if skew := now.Sub(time.Unix(seconds, 0)); skew > maxSkew || skew < -maxSkew {
		return calls.Errorf(calls.Invalid, "the request is too old, or from the future").WithHint("set the clocks")
	}
	return nil
}

// DeliveryID returns a name for a request of a webhook, so that a repeat of it is recognized; "" if the sender
// names none. The exception is GitHub: its signature covers the body alone, so an observer of a request could send
// it again with another X-GitHub-Delivery. Its name is the hash of the body.
func (v *Verification) DeliveryID(header http.Header, body []byte) string {
	if v.Way == VerifyGitHub {
		sum := sha256.Sum256(body)
		return "body:" + hex.EncodeToString(sum[:])
	}
	for _, name := range []string{headerID, "X-GitHub-Delivery", "Idempotency-Key"} {
		if id := header.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// SignStandard returns the signature of a message as Standard Webhooks wants it. The secret
// is base64, with or without whsec_ before it.
func SignStandard(secret, id string, at time.Time, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return "", calls.Errorf(calls.Internal, "the secret of the webhook is not base64").WithHint("Standard Webhooks secrets are whsec_ and base64")
	}
	content := append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), body...)
	return "v1," + base64.StdEncoding.EncodeToString(sign(key, content)), nil
}

// SetStandard sets the headers of a message that is signed with [SignStandard].
func SetStandard(header http.Header, secret, id string, at time.Time, body []byte) error {
	signature, err := SignStandard(secret, id, at, body)
	if err != nil {
		return err
	}
	header.Set(headerID, id)
	header.Set(headerTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(headerSignature, signature)
	return nil
}

// sign returns the HMAC-SHA256 of content.
func sign(key, content []byte) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(content) // it never fails
	return mac.Sum(nil)
}

// equal compares two texts in a time that does not depend on their difference.
func equal(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// ShownHeaders returns the headers of a request, in lower case, without proofs of the sender, because a flow's
// data is recorded.
func (v *Verification) ShownHeaders(header http.Header) map[string]string {
	hidden := []string{
		"authorization", "cookie", "proxy-authorization", "x-hub-signature", "x-hub-signature-256", strings.ToLower(headerSignature),
		strings.ToLower(v.Header),
	}
	shown := map[string]string{}
	for name, values := range header {
		name = strings.ToLower(name)
		if !slices.Contains(hidden, name) {
			shown[name] = strings.Join(values, ", ")
		}
	}
	return shown
}
