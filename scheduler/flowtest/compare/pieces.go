package compare

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// PieceChange is the change of a piece of a prompt from one run to the other.
type PieceChange struct {
	change
	// Cases are the ids of the cases with this change.
	Cases []string `json:"cases"`
}

// change identifies equal changes in several cases.
type change struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Step string `json:"step"`
	What What   `json:"what"`
	// Tokens are more, or below 0 fewer, in the prompt.
	Tokens int `json:"tokens"`
	// Reason is why it is out, or was; "" if that is not the change.
	Reason string `json:"reason,omitempty"`
	// From and To are the roles, if the piece went to another one. If its text has other sources now, they list
	// the sources that only the old text had and that only the new text has, with commas between them.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// What is the kind of a change.
type What string

// The kinds of changes.
const (
	Out     What = "out"     // it was in the prompt, and is left out
	In      What = "in"      // it was left out or unknown, and is in the prompt
	Gone    What = "gone"    // it was in the prompt, and is not offered any more
	Resized What = "resized" // its text has another length
	Edited  What = "edited"  // its text is another of the same length
	Moved   What = "moved"   // it is in a message of another role
	Reorder What = "order"   // it comes in another place
	Sourced What = "sources" // its text comes from other sources
)

// pieceKey identifies a piece in both prompts. nth distinguishes equal names.
type pieceKey struct {
	step, kind, name string
	prompt, nth      int
}

// keyed are pieces by their key, and the keys in the order of the prompt.
type keyed struct {
	pieces map[pieceKey]*result.Piece
	order  []pieceKey
}

func keyPieces(pieces []result.Piece) keyed {
	k := keyed{pieces: map[pieceKey]*result.Piece{}}
	for i := range pieces {
		p := &pieces[i]
		key := pieceKey{p.Step, p.Kind, p.Name, max(p.Prompt, 1), 0}
		for k.pieces[key] != nil {
			key.nth++
		}
		k.pieces[key] = p
		k.order = append(k.order, key)
	}
	return k
}

// DiffPieces returns the changes of a case's pieces.
func DiffPieces(before, after []result.Piece) (changes []PieceChange) {
	was, is := keyPieces(before), keyPieces(after)
	for _, key := range was.order {
		old, now := was.pieces[key], is.pieces[key]
		if now == nil && old.IsIn() {
			changes = append(changes, changeOf(key, Gone, -old.Tokens))
		}
	}
	var stayed []pieceKey
	for _, key := range is.order {
		now, old := is.pieces[key], was.pieces[key]
		if old != nil && old.IsIn() && now.IsIn() {
			stayed = append(stayed, key)
		}
		if c, ok := changeBetween(key, old, now); ok {
			changes = append(changes, c)
		}
		if c, ok := changedSources(key, old, now); ok {
			changes = append(changes, c)
		}
	}
	for _, key := range outOfOrder(was.order, stayed) {
		changes = append(changes, changeOf(key, Reorder, 0))
	}
	return changes
}

func changeOf(key pieceKey, what What, tokens int) PieceChange {
	return PieceChange{change: change{Kind: key.kind, Name: key.name, Step: key.step, What: what, Tokens: tokens}}
}

// changeBetween returns the change of a piece of the newer prompt; old is nil if the earlier prompt did not have
// it.
func changeBetween(key pieceKey, old, now *result.Piece) (c PieceChange, ok bool) {
	wasIn := old != nil && old.IsIn()
	switch {
	case wasIn && !now.IsIn():
		c = changeOf(key, Out, -old.Tokens)
		c.Reason = reasonOf(now)
	case !wasIn && now.IsIn():
		c = changeOf(key, In, now.Tokens)
		if old != nil {
			c.Reason = reasonOf(old)
		}
	case !wasIn:
		return c, false
	case old.Role != now.Role:
		c = changeOf(key, Moved, now.Tokens-old.Tokens)
		c.From, c.To = old.Role, now.Role
	case old.Digest == now.Digest:
		return c, false
	case old.Tokens != now.Tokens:
		c = changeOf(key, Resized, now.Tokens-old.Tokens)
	default:
		c = changeOf(key, Edited, 0)
	}
	return c, true
}

// changedSources reports a change if a piece in both prompts comes from other sources, even with the same text.
// Baselines of earlier versions have no sources.
func changedSources(key pieceKey, old, now *result.Piece) (c PieceChange, ok bool) {
	if old == nil || len(old.Sources) == 0 || len(now.Sources) == 0 {
		return c, false
	}
	c = changeOf(key, Sourced, 0)
	c.From, c.To = listWithout(old.Sources, now.Sources), listWithout(now.Sources, old.Sources)
	return c, c.From != c.To
}

// listWithout lists the names that are not among others.
func listWithout(names, others []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) }), ", ")
}

// reasonOf returns why a piece was left out, with the details that the call gives.
func reasonOf(p *result.Piece) string {
	if p.Detail == "" || p.Detail == p.Reason {
		return p.Reason
	}
	return p.Reason + ": " + p.Detail
}

// outOfOrder returns the fewest of the keys that stayed which must move to turn the earlier order
// into the newer one: those beside a longest run that both have.
func outOfOrder(earlier, stayed []pieceKey) (moved []pieceKey) {
	place := map[pieceKey]int{}
	for i, key := range earlier {
		place[key] = i
	}
	length, previous := make([]int, len(stayed)), make([]int, len(stayed))
	best := -1
	for i := range stayed {
		length[i], previous[i] = 1, -1
		for j := range i {
			if place[stayed[j]] < place[stayed[i]] && length[j]+1 > length[i] {
				length[i], previous[i] = length[j]+1, j
			}
		}
		if best < 0 || length[i] > length[best] {
			best = i
		}
	}
	kept := map[int]bool{}
	for i := best; i >= 0; i = previous[i] {
		kept[i] = true
	}
	for i, key := range stayed {
		if !kept[i] {
			moved = append(moved, key)
		}
	}
	return moved
}

// addChanges adds the changes of a case to all; equal changes are joined and list their cases.
func addChanges(all []PieceChange, id string, changes []PieceChange) []PieceChange {
	for _, c := range changes {
		i := slices.IndexFunc(all, func(o PieceChange) bool { return o.change == c.change })
		if i < 0 {
			c.Cases = []string{id}
			all = append(all, c)
			continue
		}
		if !slices.Contains(all[i].Cases, id) {
			all[i].Cases = append(all[i].Cases, id)
		}
	}
	return all
}
