package tokens_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"sync"
	"testing"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/tokens"
)

func TestCount(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{
		{"", 0},
		{"hello world", 2},
		{"Hello, world!", 4},
		{"<|endoftext|>", 7}, // ordinary text, not one special token
		{"\xff\xfe", 1},
		{"\n \n", 1}, // a line of white space is within a piece
		{"\x7f", 1},
	}
	for _, tt := range tests {
		if got := tokens.For("").Count(tt.text); got != tt.want {
			t.Errorf("Count(%q) = %d, want %d", tt.text, got, tt.want)
		}
	}
}

func TestFor(t *testing.T) {
	text := strings.Repeat("one two three four five ", 20)
	base := tokens.For("").Count(text)
	tests := []struct {
		model string
		want  int // percent of o200k
	}{
		{"", 100}, {"gpt-4o-mini", 100}, {"openai/gpt-5", 100}, {"GPT-4.1", 100},
		{"gpt-4-turbo", 120}, {"claude-sonnet-4", 110}, {"anthropic/claude-opus-4", 110},
		{"llama3.1:8b", 120}, {"deepseek-chat", 110}, {"qwen-max", 110},
	}
	for _, tt := range tests {
		want := (base*tt.want + 99) / 100
		if got := tokens.For(tt.model).Count(text); got < want || got > want+1 {
			t.Errorf("For(%q) counts %d, want about %d", tt.model, got, want)
		}
	}
	if got := tokens.For("claude").Count(""); got != 0 {
		t.Errorf(`Count("") = %d`, got)
	}
}

// One long unbroken piece must not take quadratic time: the test would hang.
func TestLongPiece(t *testing.T) {
	if n := tokens.For("").Count(strings.Repeat("a", 200_000)); n < 1000 {
		t.Errorf("got %d", n)
	}
}

func TestConcurrentCount(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if n := tokens.For("gpt-4o").Count("hello world"); n != 2 {
				t.Errorf("got %d", n)
			}
		})
	}
	wg.Wait()
}

// picture is a message with nothing but an image.
func picture(url, detail string) llm.Message {
	return llm.Message(`{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "` + url + `", "detail": "` + detail + `"}}]}`)
}

func TestImagesInMessages(t *testing.T) {
	const url = "https://example.org/y.png"
	tests := []struct {
		model, detail string
		want          int
	}{
		{"gpt-4o", "", 85 + 4*170}, {"gpt-4o", "low", 85 + 170}, {"openai/gpt-5", "high", 70 + 4*140}, {"", "", 85 + 4*170},
	}
	for _, tt := range tests {
		if got := llm.MessageTokens(tokens.For(tt.model), picture(url, tt.detail)); got != tt.want+llm.MessageOverhead {
			t.Errorf("%s %s: got %d, want %d", tt.model, tt.detail, got, tt.want+llm.MessageOverhead)
		}
	}
}

func TestSizeOfImagesInMessages(t *testing.T) {
	gray := image.NewGray(image.Rect(0, 0, 1024, 400))
	var asPNG, asJPEG bytes.Buffer
	if err := png.Encode(&asPNG, gray); err != nil {
		t.Fatal(err)
	}
	if err := jpeg.Encode(&asJPEG, gray, nil); err != nil {
		t.Fatal(err)
	}
	webp := func(chunk string, rest ...byte) []byte {
		head := append([]byte("RIFF\x00\x00\x00\x00WEBP"+chunk), rest...)
		return append(head, make([]byte, 40-len(head))...)
	}
	images := map[string][]byte{
		"png":       asPNG.Bytes(),
		"jpeg":      asJPEG.Bytes(),
		"webp VP8":  webp("VP8 ", 0, 0, 0, 0, 0, 0, 0, 0x9d, 0x01, 0x2a, 0, 0x04, 0x90, 0x01),
		"webp VP8X": webp("VP8X", 10, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x03, 0, 0x8f, 0x01, 0),
	}
	// The head of VP8L packs both sides, less one, into 28 bits.
	packed := uint32(1023 | 399<<14)
	images["webp VP8L"] = webp("VP8L", 0, 0, 0, 0, 0x2f, byte(packed), byte(packed>>8), byte(packed>>16), byte(packed>>24))
	for name, data := range images {
		m := picture("data:image/x;base64,"+base64.StdEncoding.EncodeToString(data), "")
		if got, want := llm.MessageTokens(tokens.For("gpt-4o"), m), 85+2*170+llm.MessageOverhead; got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}

func TestImage(t *testing.T) {
	tests := []struct {
		model         string
		width, height int
		want          int
	}{
		{"gpt-4o", 1024, 1024, 765},
		{"gpt-4o", 2048, 4096, 1105},
		{"gpt-4o", 10, 10, 255},
		{"gpt-4o-mini", 10, 10, 8500},
		{"gpt-5", 512, 512, 210},
		{"gpt-5-mini", 1024, 1024, 1659},
		{"gpt-4.1-mini", 4000, 4000, 2489},
		{"anthropic/claude-sonnet-4", 1000, 750, 1000},
		{"claude-sonnet-4", 8000, 8000, 1600},
		{"gemini-2.5-pro", 300, 300, 258},
		{"gemini-2.5-pro", 1000, 700, 516},
		{"unheard-of", 1024, 1024, 765},
		{"unheard-of", 0, -1, 255},
	}
	for _, tt := range tests {
		if got := tokens.Image(tt.model, tt.width, tt.height); got != tt.want {
			t.Errorf("Image(%q, %d, %d) = %d, want %d", tt.model, tt.width, tt.height, got, tt.want)
		}
	}
}

func ExampleFor() {
	fmt.Println(tokens.For("gpt-4o").Count("hello world"))
	// Output: 2
}
