package agent

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// pictureTypes are the kinds of pictures that providers take.
var pictureTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// maxPicture bounds the bytes of a picture that the model sees; of a larger one it reads the note.
const maxPicture = maxFile

// pictureURL returns a picture as a data URL; "" for data that is not a picture, or too large. The bytes decide
// the type: a server may name another.
func pictureURL(data []byte) string {
	kind := http.DetectContentType(data)
	if !slices.Contains(pictureTypes, kind) || len(data) > maxPicture {
		return ""
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// pictureNote returns the words that replace a picture in a result, for example [image/png, 70 bytes].
func pictureNote(data []byte) string {
	return "[" + http.DetectContentType(data) + ", " + strconv.Itoa(len(data)) + " bytes]"
}

// pictures returns the pictures in the answer of an MCP server as data URLs.
func (t toolPlan) pictures(output value.Value) (urls []string) {
	if !strings.HasPrefix(t.call, callMCP) {
		return nil
	}
	content, _ := output.Get("content")
	for _, part := range content.List() {
		for _, pointer := range []string{"/data", "/resource/blob"} {
			given, _ := part.At(pointer)
			text, _ := given.Str()
			data, err := base64.StdEncoding.DecodeString(text)
			if url := pictureURL(data); err == nil && url != "" {
				urls = append(urls, url)
			}
		}
	}
	return urls
}

// picturesMessage returns the message with which the model sees the pictures of a round: one of the user, for providers
// take pictures nowhere else.
func picturesMessage(urls []string) *value.Map {
	parts := make([]value.Value, len(urls))
	for i, url := range urls {
		parts[i] = value.OfMap(value.Pairs("type", "image_url", "image_url", value.Pairs("url", url)))
	}
	return value.Pairs("role", "user", "content", parts)
}
