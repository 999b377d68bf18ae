package schema

import (
	"net/url"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// location is the URL that a document is given to the library by.
const location = "mem:///schema.json"

// base is the URL that relative references of a document are resolved against.
const base = "mem:///"

// asWritten returns a URL without the parts that the document has not written.
func asWritten(url string) string {
	if fragment, ok := strings.CutPrefix(url, location+"#"); ok {
		return "#" + fragment
	}
	return strings.TrimPrefix(url, base)
}

// pointerIn returns the pointer that a URL of the library ends with.
func pointerIn(url string) string {
	_, fragment, _ := strings.Cut(url, "#")
	return decodeLocation(fragment)
}

// decodeLocation undoes the percent-encoding that the library lays over JSON pointers.
func decodeLocation(location string) string {
	if plain, err := url.PathUnescape(location); err == nil {
		return plain
	}
	return location
}

// cutLast parts the last token, without its escapes, from a pointer.
func cutLast(pointer string) (parent, token string) {
	i := strings.LastIndexByte(pointer, '/')
	if i < 0 {
		return "", pointer
	}
	return pointer[:i], value.Unescape(pointer[i+1:])
}
