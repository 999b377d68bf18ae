package http

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/http/openapi"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// maxDocument and maxNodes bound an OpenAPI document. For example, GitHub's has 13 MB.
const (
	maxDocument = 32 << 20
	maxNodes    = 4_000_000
)

// lastDocument is the document that was read last: the items of a step, its attempts and
// the filling of its parameters all want the same.
var lastDocument struct {
	sync.Mutex
	path string
	info fs.FileInfo
	doc  value.Value
}

// readDocument reads a document in JSON or YAML from a directory.
func readDocument(dir, name string) (value.Value, error) {
	root, err := calls.OpenRoot(dir)
	if err != nil {
		return value.Value{}, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return value.Value{}, err
	}
	last := &lastDocument
	last.Lock() // a reader of the same document waits until it is read
	defer last.Unlock()
	path := filepath.Join(dir, name)
	isLast := last.path == path && os.SameFile(last.info, info)
	if isLast && last.info.ModTime().Equal(info.ModTime()) && last.info.Size() == info.Size() {
		return last.doc, nil
	}
	data, err := calls.ReadFileIn(root, name, maxDocument)
	if err != nil {
		return value.Value{}, err
	}
	doc, err := parseDocument(data)
	if err != nil {
		return value.Value{}, err
	}
	left, files := maxDocument-len(data), 0
	doc = openapi.Bundle(doc, func(file string) (value.Value, error) {
		files++
		return readPart(root, filepath.Join(filepath.Dir(name), filepath.FromSlash(file)), &left)
	})
	if files > 0 { // one of them may change
		return doc, nil
	}
	if time.Since(info.ModTime()) > time.Second { // else it may change again and look the same
		last.path, last.info, last.doc = path, info, doc
	}
	return doc, nil
}

// readPart reads a file that a document refers to: beside it or below, never outside of the folder of
// the flow. left is how many bytes all files may have yet.
func readPart(root *os.Root, name string, left *int) (value.Value, error) {
	data, err := calls.ReadFileIn(root, name, int64(*left))
	if err != nil {
		return value.Value{}, err
	}
	*left -= len(data)
	if *left < 0 {
		*left = 0
		return value.Value{}, wording.Errorf("the document has more than %d bytes", maxDocument)
	}
	return parseDocument(data)
}

// parseDocument reads a document.
func parseDocument(data []byte) (value.Value, error) {
	if len(data) > maxDocument {
		return value.Value{}, wording.Errorf("the document has more than %d bytes", maxDocument)
	}
	return parseText(data)
}

// parseText reads JSON as JSON; text that begins like JSON but is not may be YAML.
func parseText(data []byte) (value.Value, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		if doc, err := value.ParseStrictJSON(data); err == nil {
			return doc, nil
		}
	}
	return yaml.ParseValueWithin(data, yaml.Limits{Bytes: maxDocument, Nodes: maxNodes})
}
