package result

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/callnode/scheduler/scheduler/explain"
)

// Piece is a piece of a prompt without its text: enough to compare two prompts by their sources.
type Piece struct {
	// Step is the step of the prompt, and Prompt its number among the prompts of the step, from 1.
	Step   string `json:"step"`
	Prompt int    `json:"prompt,omitempty"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	// Role is the role of its message; "" for a piece that was left out.
	Role   string `json:"role,omitempty"`
	Tokens int    `json:"tokens"`
	// Digest is a hash of the text; "" for a piece that was left out.
	Digest string `json:"digest,omitempty"`
	// Sources are the first sources of its text, as [sourceName] names them: each once, in the order of the text.
	// nil for a piece that was left out, and in pieces of an earlier version.
	Sources []string `json:"sources,omitempty"`
	// Reason and Code say why it was left out, as in [explain.LeftOut], and Detail gives more about it.
	Reason string `json:"reason,omitempty"`
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// IsIn reports whether the piece is in the prompt.
func (p *Piece) IsIn() bool { return p.Digest != "" }

// PiecesOf returns the pieces of prompts, in their order, with the left-out pieces at the end. Neighbours with one
// source are one piece.
func PiecesOf(prompts []*explain.Explanation) (all []Piece) {
	numbers := map[string]int{}
	for _, p := range prompts {
		numbers[p.Step]++
		for m := range p.Messages {
			all = append(all, messagePieces(p, &p.Messages[m], numbers[p.Step])...)
		}
	}
	for _, p := range prompts {
		for _, out := range p.LeftOut {
			all = append(all, Piece{Step: p.Step, Kind: out.Kind, Name: out.Name, Tokens: out.Tokens, Reason: out.Reason, Code: out.Code, Detail: out.Detail})
		}
	}
	return all
}

// messagePieces returns the pieces of a message.
func messagePieces(p *explain.Explanation, message *explain.ExplainedMessage, number int) (all []Piece) {
	text := ""
	for i := range message.Pieces {
		piece := &message.Pieces[i]
		kind, name := NameOf(piece.Sources)
		if last := len(all) - 1; last >= 0 && all[last].Kind == kind && all[last].Name == name {
			text += piece.Text
			all[last].Tokens += piece.Tokens
			all[last].Digest = digestOf(text)
			all[last].addSource(piece.Sources)
			continue
		}
		text = piece.Text
		all = append(all, Piece{
			Step: p.Step, Prompt: number, Kind: kind, Name: name, Role: message.Role, Tokens: piece.Tokens, Digest: digestOf(text),
		})
		all[len(all)-1].addSource(piece.Sources)
	}
	return all
}

// addSource adds the first source of a text of the piece, by its way.
func (p *Piece) addSource(way []explain.Source) {
	if len(way) == 0 {
		return
	}
	if name := sourceName(&way[0]); !slices.Contains(p.Sources, name) {
		p.Sources = append(p.Sources, name)
	}
}

// sourceName returns the name of a source without its place, which moves with every other change of the file: inputs.question,
// file AGENTS.md, computed inputs.question, flow for words of the flow.
func sourceName(s *explain.Source) string {
	switch s.Kind { //nolint:exhaustive // the others are named alike
	case explain.SourceInput, explain.SourceName, explain.SourceConversation:
		return s.Name
	case explain.SourceComputed:
		return strings.TrimSpace(string(s.Kind) + " " + cmp.Or(strings.Join(s.From, ", "), s.Name))
	case explain.SourcePart:
		return strings.TrimSpace(s.Part + " " + s.Name)
	}
	return strings.TrimSpace(string(s.Kind) + " " + cmp.Or(s.Name, s.Step))
}

// NameOf returns the kind and the name of a piece for people: from the part that a call made of it (a world book
// entry, a file, a preset), else from its first source.
func NameOf(way []explain.Source) (kind, name string) {
	for _, s := range way {
		if s.Part != "" {
			return s.Part, s.Name
		}
	}
	if len(way) == 0 {
		return "", ""
	}
	origin := way[0]
	if origin.Name == "" && origin.Step != "" {
		return string(origin.Kind), origin.Step
	}
	return string(origin.Kind), origin.Name
}

// digestOf returns 16 hexadecimal digits as the digest of a text.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
