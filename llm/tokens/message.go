package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"strings"

	"github.com/callnode/scheduler/llm"
)

// Messages is what chat messages cost a model: their text, names, tool calls and
// reasoning by the counter, images by [Image], and [llm.MessageOverhead] for each.
// What is no message object costs its text.
func Messages(counter llm.Counter, model string, messages ...llm.Message) int {
	total := 0
	for _, m := range messages {
		total += llm.MessageOverhead + message(counter, model, m)
	}
	return total
}

func message(counter llm.Counter, model string, raw llm.Message) int {
	var m struct {
		Name       string          `json:"name"`
		ToolCallID string          `json:"tool_call_id"`
		Content    json.RawMessage `json:"content"`
		Reasoning  string          `json:"reasoning_content"`
		ToolCalls  json.RawMessage `json:"tool_calls"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return counter.Count(string(raw))
	}
	total := counter.Count(m.Name) + counter.Count(m.ToolCallID) + counter.Count(m.Reasoning) +
		content(counter, model, m.Content)
	if calls := string(m.ToolCalls); calls != "null" {
		total += counter.Count(calls)
	}
	return total
}

func content(counter llm.Counter, model string, raw json.RawMessage) int {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil { // null leaves "" behind
		return counter.Count(text)
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return counter.Count(string(raw))
	}
	total := 0
	for _, part := range parts {
		total += contentPart(counter, model, part)
	}
	return total
}

func contentPart(counter llm.Counter, model string, raw json.RawMessage) int {
	var part struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL *struct {
			URL    string `json:"url"`
			Detail string `json:"detail"`
		} `json:"image_url"`
	}
	err := json.Unmarshal(raw, &part)
	switch {
	case err == nil && part.Type == "text":
		return counter.Count(part.Text)
	case err == nil && part.ImageURL != nil:
		width, height := dataURLSize(part.ImageURL.URL)
		if part.ImageURL.Detail == "low" {
			width, height = min(width, lowDetail), min(height, lowDetail)
		}
		return Image(model, width, height)
	}
	return counter.Count(string(raw))
}

const (
	// unknownSize is the side of an image whose size cannot be seen.
	unknownSize = 1024
	// lowDetail is the side that images of low detail are scaled to.
	lowDetail = 512
)

// dataURLSize reads the size of an image from the head of its data URL, without
// decoding the picture.
func dataURLSize(url string) (width, height int) {
	_, encoded, ok := strings.Cut(url, ";base64,")
	if !ok || !strings.HasPrefix(url, "data:") {
		return unknownSize, unknownSize
	}
	for _, decode := range []func(io.Reader) (image.Config, error){png.DecodeConfig, jpeg.DecodeConfig, gif.DecodeConfig} {
		config, err := decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded)))
		if err == nil {
			return config.Width, config.Height
		}
	}
	if width, height, ok := webpSize(encoded); ok {
		return width, height
	}
	return unknownSize, unknownSize
}

// webpSize reads the three kinds of WebP headers: the standard library has no
// decoder for them.
func webpSize(encoded string) (width, height int, ok bool) {
	head, err := base64.StdEncoding.DecodeString(encoded[:min(len(encoded), 40)])
	if err != nil || len(head) < 30 || !bytes.HasPrefix(head, []byte("RIFF")) || string(head[8:12]) != "WEBP" {
		return 0, 0, false
	}
	at := func(i int) int { return int(head[i]) }
	switch string(head[12:16]) {
	case "VP8 ":
		return (at(26) | at(27)<<8) & 0x3fff, (at(28) | at(29)<<8) & 0x3fff, true
	case "VP8L":
		bits := at(21) | at(22)<<8 | at(23)<<16 | at(24)<<24
		return bits&0x3fff + 1, bits>>14&0x3fff + 1, true
	case "VP8X":
		return (at(24) | at(25)<<8 | at(26)<<16) + 1, (at(27) | at(28)<<8 | at(29)<<16) + 1, true
	}
	return 0, 0, false
}

// imageCosts is how families of models count images, by the prefix of the
// model's name; the longest that fits counts.
var imageCosts = []struct {
	prefix string
	cost   func(width, height float64) float64
}{
	{"", tiles(85, 170)}, // the dearest of the usual ways
	{"gpt-4o-mini", tiles(2833, 5667)},
	{"gpt-5", tiles(70, 140)},
	{"o1", tiles(75, 150)}, {"o3", tiles(75, 150)},
	{"gpt-4.1-mini", patches(1.62)}, {"gpt-4.1-nano", patches(2.46)}, {"o4-mini", patches(1.72)},
	{"gpt-5-mini", patches(1.62)}, {"gpt-5-nano", patches(2.46)},
	{"claude", claude},
	{"gemini", gemini},
}

// Image estimates what an image of that size in pixels costs a model. Vendors
// change how they count: it is for budgets, not for bills.
func Image(model string, width, height int) int {
	name, best := baseName(model), 0
	for i, c := range imageCosts {
		if strings.HasPrefix(name, c.prefix) && len(c.prefix) >= len(imageCosts[best].prefix) {
			best = i
		}
	}
	w, h := float64(max(width, 1)), float64(max(height, 1))
	return int(math.Ceil(imageCosts[best].cost(w, h)))
}

// fit scales a size down until its sides are within long and short.
func fit(w, h, long, short float64) (float64, float64) {
	scale := min(1, long/max(w, h), short/min(w, h))
	return w * scale, h * scale
}

// tiles is OpenAI's way: a base, and a price for each tile of 512 pixels after
// the image was scaled into 2048 x 2048 with a short side of 768.
func tiles(base, each float64) func(w, h float64) float64 {
	return func(w, h float64) float64 {
		if w <= lowDetail && h <= lowDetail {
			return base + each
		}
		w, h = fit(w, h, 2048, math.Inf(1))
		w, h = fit(w, h, math.Inf(1), 768)
		return base + each*math.Ceil(w/512)*math.Ceil(h/512)
	}
}

// patches is OpenAI's way for small models: patches of 32 pixels, at most 1536,
// times a factor.
func patches(factor float64) func(w, h float64) float64 {
	return func(w, h float64) float64 {
		return factor * min(1536, math.Ceil(w/32)*math.Ceil(h/32))
	}
}

// claude counts the pixels after the long side was scaled to 1568.
func claude(w, h float64) float64 {
	w, h = fit(w, h, 1568, math.Inf(1))
	return min(1600, w*h/750)
}

// gemini counts tiles of 768 pixels; a small image is one.
func gemini(w, h float64) float64 {
	if w <= 384 && h <= 384 {
		return 258
	}
	return 258 * math.Ceil(w/768) * math.Ceil(h/768)
}
