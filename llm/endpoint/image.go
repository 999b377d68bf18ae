package endpoint

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value/wording"
)

// sniffedBytes is how many bytes of an image are looked at to find its type.
const sniffedBytes = 512

// ImageData returns the media type and the base64 text of an image that is a data URL; isData is false for another
// address. The bytes decide the media type, not the URL's claim; data that is not an image is an error.
func ImageData(url string) (mediaType, base64Text string, isData bool, err error) {
	head, data, found := strings.Cut(url, ",")
	if !strings.HasPrefix(head, "data:") {
		return "", "", false, nil
	}
	if !found || !strings.HasSuffix(head, ";base64") {
		return "", "", true, newImageError("a data URL of an image must be base64")
	}
	start := data[:min(len(data), base64.StdEncoding.EncodedLen(sniffedBytes))]
	start = start[:len(start)/4*4]
	sniffed, err := base64.StdEncoding.DecodeString(start)
	if err != nil {
		return "", "", true, newImageError("the data URL of an image is not base64: %w", err)
	}
	mediaType = imageType(sniffed)
	if mediaType == "" {
		return "", "", true, newImageError("the data sent as %q is not an image", strings.TrimPrefix(strings.TrimSuffix(head, ";base64"), "data:"))
	}
	return mediaType, data, true, nil
}

// CheckImages refuses messages with an image that has wrong data.
func CheckImages(messages []llm.Message) error {
	for i, message := range messages {
		if !bytes.Contains(message, []byte("data:")) {
			continue
		}
		var m struct {
			Content json.RawMessage `json:"content"`
		}
		var parts []struct {
			Type     string          `json:"type"`
			ImageURL json.RawMessage `json:"image_url"`
		}
		if json.Unmarshal(message, &m) != nil || json.Unmarshal(m.Content, &parts) != nil {
			continue // text, or not for this check to judge
		}
		for j, part := range parts {
			if part.ImageURL == nil {
				continue
			}
			if _, _, _, err := ImageData(ImageURL(part.ImageURL)); err != nil {
				return wording.Errorf("messages/%d/content/%d: %w", i, j, err)
			}
		}
	}
	return nil
}

// ImageURL returns the address in an image_url: {url}, or the address alone; "" for
// anything else.
func ImageURL(raw json.RawMessage) string {
	var image struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(raw, &image) != nil && json.Unmarshal(raw, &image.URL) != nil {
		return ""
	}
	return image.URL
}

// imageError describes an error in an image.
type imageError struct{ error }

func newImageError(format string, args ...any) error {
	return &imageError{wording.Errorf(format, args...)}
}

// Unwrap returns the error that knows its languages.
func (e *imageError) Unwrap() error { return e.error }

const imageHint = "send PNG, JPEG, GIF or WebP; other data goes as text or as a file"

// imageType returns the media type of an image by its first bytes; "" if it is not an image that any vendor
// accepts.
func imageType(start []byte) string {
	found := http.DetectContentType(start)
	if strings.HasPrefix(found, "image/") {
		return found
	}
	if bytes.HasPrefix(start, []byte("II*\x00")) || bytes.HasPrefix(start, []byte("MM\x00*")) {
		return "image/tiff"
	}
	if len(start) >= 12 && string(start[4:8]) == "ftyp" {
		switch brand := string(start[8:12]); brand {
		case "heic", "heix", "hevc", "mif1", "msf1":
			return "image/heic"
		case "avif", "avis":
			return "image/avif"
		}
	}
	return ""
}
