package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// pieceNames are what tells which names pieces of prompts can have.
type pieceNames struct {
	// listed are the names that entries, presets and modules have, in the flows and in their files.
	listed []string
	// texts are the texts of the flows, and of their files: a name that stands in one may be that of a piece.
	texts []string
	// isOpen: there may be others, of what is computed, or of files that were not read.
	isOpen bool
}

// nameKeys are the members that name pieces in parameters and files.
var nameKeys = []string{"identifier", "name", "id", "module_name"}

// namingKeys are the parameters whose entries name pieces: where one is computed, the names are only known in a run.
var namingKeys = []string{"presets_in_chat", "presets", "world_books", "entries", "memories", "skills", "config_path", "context_template", "tools"}

// The bounds of what is read for names.
const (
	maxNameFiles = 200
	maxNameBytes = 256 << 10
)

// checkName reports the name of a piece that is nearly one that there is, and that stands nowhere in the flow and its files. It is
// for matchers that are content where there is no such piece: others fail then, and say what there is.
func checkName(a *argument, below string, s selector) bool {
	isContent := a.prefix != "" || strings.HasPrefix(below, "/of/")
	isOpen := strings.Contains(s.Name, "*") || slices.Contains(openKinds, s.Kind)
	if !isContent || isOpen || s.Name == "" || len(a.scope.Flows) == 0 {
		return true
	}
	near := a.scope.sourceNames().nearestPiece(s.Name)
	if near == "" {
		return true
	}
	a.report(below, wording.Say("no piece of the prompt can have the name %q", s.Name), wording.Say("did you mean %q?", near))
	return false
}

// openKinds are the kinds of pieces whose names calls make up, or that come from elsewhere.
var openKinds = []string{"heading", "separator", "history", "memory", "recalled", "session", "tool", "model", "user"}

// nearestPiece returns the name that was probably meant by one that no piece can have; "" where a piece may have it, or none is near.
func (n *sourceNames) nearestPiece(name string) string {
	if n.isOpen || n.has(name) {
		return ""
	}
	n.piecesOnce.Do(n.readPieces)
	stands := func(text string) bool { return strings.Contains(text, name) }
	if n.pieces.isOpen || slices.ContainsFunc(n.pieces.texts, stands) {
		return ""
	}
	return value.Nearest(name, slices.Concat(n.pieces.listed, n.files.all()))
}

// readPieces collects the names and texts of the flows and their files.
func (n *sourceNames) readPieces() {
	p := &n.pieces
	for _, with := range n.written {
		eachMember(with, func(key string, v value.Value) {
			p.isOpen = p.isOpen || v.IsNull() && slices.Contains(namingKeys, key)
			p.add(key, v)
		})
	}
	n.files.once.Do(n.files.list)
	p.isOpen = p.isOpen || n.files.isCut
	seen := map[string]bool{}
	for _, name := range slices.Concat(n.files.names, n.files.listed) {
		path, err := filepath.Abs(filepath.FromSlash(name))
		info, statErr := os.Stat(path)
		isOfTests := strings.Contains(filepath.Base(path), ".test.") // what it misspells is no name
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

// read adds what a file has.
func (p *pieceNames) read(path string) {
	content, err := calls.ReadFile(path, maxNameBytes)
	if err != nil || len(content) > maxNameBytes {
		p.isOpen = true
		return
	}
	p.texts = append(p.texts, string(content))
	if data, err := parseData(path, content); err == nil {
		eachMember(data, p.add)
	}
}
