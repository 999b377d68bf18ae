package endpoint

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/callnode/scheduler/llm"
)

// sniffedBytes is how much of an image is looked at to tell what it is.
const sniffedBytes = 512

// ImageData returns the media type and the base64 text of an image that is a data URL;
// isData is false for another address. The media type is that of the bytes, whatever
// the URL says; data that is not an image is an error.
func ImageData(url string) (mediaType, base64Text string, isData bool, err error) {
	head, data, found := strings.Cut(url, ",")
	if !strings.HasPrefix(head, "data:") {
		return "", "", false, nil
	}
	if !found || !strings.HasSuffix(head, ";base64") {
		return "", "", true, notImage("a data URL of an image must be base64")
	}
	start := data[:min(len(data), base64.StdEncoding.EncodedLen(sniffedBytes))]
	start = start[:len(start)/4*4]
	sniffed, err := base64.StdEncoding.DecodeString(start)
	if err != nil {
		return "", "", true, notImage("the data URL of an image is not base64: " + err.Error())
	}
	mediaType = imageType(sniffed)
	if mediaType == "" {
		return "", "", true, notImage(fmt.Sprintf("the data sent as %q is not an image", strings.TrimPrefix(strings.TrimSuffix(head, ";base64"), "data:")))
	}
	return mediaType, data, true, nil
}

func notImage(message string) *llm.Error {
	return &llm.Error{Message: message, Unsent: true, Hint: "send PNG, JPEG, GIF or WebP; other data goes as text or as a file"}
}

// imageType returns the media type of an image by its first bytes; "" for what is not an
// image that any vendor takes.
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
