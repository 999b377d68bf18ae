package llm

import (
	"context"
	"encoding/json"
)

// Counter counts the tokens of a text. Implementations are in llm/tokens; all
// are safe for concurrent use.
type Counter interface {
	// Count returns the number of tokens of text; 0 for "".
	Count(text string) int
}

// ImageCounter is a [Counter] that knows the tokens of images for its model, and is as safe for concurrent use.
type ImageCounter interface {
	Counter
	// CountImage returns the number of tokens of an image by its address, which may be a
	// data URL, and the detail that the message asks for: low, high, auto or "".
	CountImage(url, detail string) int
}

// BoundCounter is a [Counter] that can stop: a text of 10 MB without a blank takes it seconds.
type BoundCounter interface {
	Counter
	// Bound returns the counter with a context. When the context ends, texts are no longer counted but estimated
	// by their length.
	Bound(ctx context.Context) Counter
}

// BindCounter returns a counter that stops with a context, if it can.
func BindCounter(ctx context.Context, counter Counter) Counter {
	if c, ok := counter.(BoundCounter); ok {
		return c.Bound(ctx)
	}
	return counter
}

const (
	// MessageOverhead is how many tokens a chat message costs beyond its text, by
	// the usual estimate for chat formats.
	MessageOverhead = 4
	// ImageTokens are the tokens of an image if the counter is not an [ImageCounter]: the most that usual vendors
	// charge for one of ordinary size.
	ImageTokens = 1600
)

// maxPart is how many bytes are counted of a part of a message that is neither a text nor an image: audio, a file.
// Only the vendor knows the tokens of its data.
const maxPart = 4096

// RequestTokens estimates the tokens of a request: its messages, and its tools as they are.
func RequestTokens(counter Counter, req *Request) int {
	n := 0
	for _, m := range req.Messages {
		n += MessageTokens(counter, m)
	}
	for _, tool := range req.Tools {
		n += counter.Count(string(tool))
	}
	return n
}

// MessageTokens estimates the tokens of a chat message: [MessageOverhead] and all its members but the role, names,
// tool calls and reasoning among them, with images as images. Anything that is not a message object costs its
// text.
func MessageTokens(counter Counter, message Message) int {
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &members) != nil {
		return MessageOverhead + counter.Count(string(message))
	}
	n := MessageOverhead
	for name, raw := range members {
		var text string
		var parts []json.RawMessage
		switch {
		case name == "role":
		case json.Unmarshal(raw, &text) == nil: // null leaves "" behind
			n += counter.Count(text)
		case name == "response_items" && json.Unmarshal(raw, &parts) == nil:
			for _, item := range parts {
				n += itemTokens(counter, item)
			}
		case name == "content" && json.Unmarshal(raw, &parts) == nil:
			for _, part := range parts {
				n += partTokens(counter, part)
			}
		default:
			n += counter.Count(string(raw))
		}
	}
	return n
}

// bytesPerSealedToken is how many bytes of encrypted thoughts count as one token of them: base64 of some four
// bytes and the overhead of encryption. Counted as text they would cost four times that.
const bytesPerSealedToken = 6

// itemTokens estimates the tokens of an item of response_items.
func itemTokens(counter Counter, raw json.RawMessage) int {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return counter.Count(string(raw))
	}
	sealed := len(members["encrypted_content"])
	delete(members, "encrypted_content")
	return counter.Count(string(mustEncode(members))) + sealed/bytesPerSealedToken
}

func partTokens(counter Counter, raw json.RawMessage) int {
	var part struct {
		Type     string          `json:"type"`
		Text     *string         `json:"text"`
		ImageURL json.RawMessage `json:"image_url"`
	}
	if json.Unmarshal(raw, &part) == nil {
		if part.Text != nil {
			return counter.Count(*part.Text)
		}
		if part.Type == "image_url" || part.Type == "image" || part.Type == "input_image" {
			return imageTokens(counter, part.ImageURL)
		}
	}
	return counter.Count(string(raw[:min(len(raw), maxPart)]))
}

// imageTokens estimates the cost of an image_url in the two forms that vendors have:
// {url, detail} and the URL alone.
func imageTokens(counter Counter, raw json.RawMessage) int {
	c, ok := counter.(ImageCounter)
	if !ok {
		return ImageTokens
	}
	var image struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	}
	if json.Unmarshal(raw, &image) != nil && json.Unmarshal(raw, &image.URL) != nil {
		image.URL = ""
	}
	return c.CountImage(image.URL, image.Detail)
}
