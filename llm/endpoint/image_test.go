package endpoint

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
)

func TestImageData(t *testing.T) {
	data := func(start string) string {
		return base64.StdEncoding.EncodeToString([]byte(start + strings.Repeat("x", 600)))
	}
	tests := []struct{ name, url, mediaType, problem string }{
		{"PNG called JPEG", "data:image/jpeg;base64," + data("\x89PNG\r\n\x1a\n"), "image/png", ""},
		{"JPEG", "data:image/jpeg;base64," + data("\xff\xd8\xff"), "image/jpeg", ""},
		{"GIF without a type", "data:;base64," + data("GIF89a"), "image/gif", ""},
		{"WebP", "data:image/webp;base64," + data("RIFF\x00\x00\x00\x00WEBPVP"), "image/webp", ""},
		{"TIFF", "data:image/tiff;base64," + data("II*\x00"), "image/tiff", ""},
		{"HEIC", "data:image/heic;base64," + data("\x00\x00\x00\x18ftypheic"), "image/heic", ""},
		{"AVIF", "data:image/avif;base64," + data("\x00\x00\x00\x18ftypavif"), "image/avif", ""},
		{"text", "data:image/png;base64," + data("hello"), "", `the data sent as "image/png" is not an image`},
		{"a page", "data:image/png;base64," + data("<html>"), "", "is not an image"},
		{"a video", "data:image/png;base64," + data("\x00\x00\x00\x18ftypmp42"), "", "is not an image"},
		{"nothing", "data:image/png;base64,", "", "is not an image"},
		{"not base64", "data:image/png;base64,@@@@", "", "not base64"},
		{"another encoding", "data:image/svg+xml,%3Csvg", "", "must be base64"},
		{"an address", "https://a.example/x.png", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mediaType, _, isData, err := ImageData(tt.url)
			if mediaType != tt.mediaType || isData != strings.HasPrefix(tt.url, "data:") {
				t.Errorf("got %q, %v", mediaType, isData)
			}
			if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
		})
	}
}

func TestCheckImages(t *testing.T) {
	const text = "data:image/png;base64,aGVsbG8gd29ybGQ="
	for message, refused := range map[string]bool{
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + text + `"}}]}`: true,
		`{"role":"user","content":[{"type":"input_image","image_url":"` + text + `"}]}`:       true,
		`{"role":"user","content":"` + text + `"}`:                                            false,
		`{"role":"user","content":[{"type":"text","text":"` + text + `"}]}`:                   false,
		`{"role":"user","content":[{"type":"file","file":{"file_data":"` + text + `"}}]}`:     false,
	} {
		err := CheckImages([]llm.Message{llm.TextMessage("user", "hi"), llm.Message(message)})
		if (err != nil) != refused || err != nil && !strings.HasPrefix(err.Error(), "messages/1/content/0: ") {
			t.Errorf("%s: %v", message, err)
		}
	}
}
