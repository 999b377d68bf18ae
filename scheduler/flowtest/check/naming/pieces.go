package naming

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// pieceNames collects the possible names of pieces of prompts.
type pieceNames struct {
	// listed are the names that entries, presets and modules have, in the flows and in their files.
	listed []string
	// texts are the texts of the flows, and of their files: a name that occurs in one may be the name of a piece.
	texts []string
	// isOpen: there may be other names, computed ones or in files that were not read.
	isOpen bool
}

// nameKeys are the members that name pieces in parameters and files.
var nameKeys = []string{"identifier", "name", "id", "module_name"}

// namingKeys are the parameters whose entries name pieces: if one is computed, the names are only known in a run.
var namingKeys = []string{"presets_in_chat", "presets", "world_books", "entries", "memories", "skills", "config_path", "context_template", "tools"}

// Bounds on reading names from files.
const (
	maxNameFiles = 200
	maxNameBytes = 256 << 10
)

// collect collects the names and texts in parameters of steps, and in files.
func (p *pieceNames) collect(written []value.Value, of *fileNames) {
	for _, with := range written {
		eachMember(with, func(key string, v value.Value) {
			p.isOpen = p.isOpen || v.IsNull() && slices.Contains(namingKeys, key)
			p.add(key, v)
		})
	}
	of.once.Do(of.list)
	p.isOpen = p.isOpen || of.isCut
	seen := map[string]bool{}
	for _, name := range slices.Concat(of.names, of.listed) {
		path, err := filepath.Abs(filepath.FromSlash(name))
		info, statErr := os.Stat(path)
		isOfTests := strings.Contains(filepath.Base(path), ".test.") // a misspelling in it is not a name
		if err != nil || statErr != nil || isOfTests || seen[path] || !info.Mode().IsRegular() {
			continue
		}
		seen[path] = true
		if len(seen) > maxNameFiles {
			p.isOpen = true
			return
		}
		p.read(path)
	}
}

// add adds a member of parameters, or of a file.
func (p *pieceNames) add(key string, v value.Value) {
	text, isText := v.Str()
	if !isText || text == "" {
		return
	}
	p.texts = append(p.texts, text)
	if slices.Contains(nameKeys, key) {
		p.listed = append(p.listed, text)
	}
}

// read adds the names and the text of a file.
func (p *pieceNames) read(path string) {
	content, err := calls.ReadFile(path, maxNameBytes)
	if err != nil || len(content) > maxNameBytes {
		p.isOpen = true
		return
	}
	p.texts = append(p.texts, string(content))
	if data, err := yaml.ParseFile(path, content); err == nil {
		eachMember(data, p.add)
	}
}

// eachMember visits everything in a value, with its key; the items of a list get the key of the list.
func eachMember(v value.Value, visit func(key string, v value.Value)) {
	var walk func(key string, v value.Value)
	walk = func(key string, v value.Value) {
		visit(key, v)
		for name, member := range v.Map().All() {
			walk(name, member)
		}
		for _, item := range v.List() {
			walk(key, item)
		}
	}
	walk("", v)
}
