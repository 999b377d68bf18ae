package flow

import (
	"slices"

	"github.com/callnode/scheduler/calls"
)

// minCached is the size in bytes of constant text after a changing piece from which on there is a warning: about
// the thousand tokens from which on providers cache the beginning of a prompt.
const minCached = 4096

// lintCaches warns of prompts that begin with text that changes from request to request, and continue with a long
// text that does not: no provider can cache that.
func (u *unit) lintCaches() {
	scope, warned := scopeOf(u.flow), map[Position]bool{}
	for s := range u.eachStep() {
		if s.With == nil {
			continue
		}
		t := &promptTracer{flowScope: scope, left: maxFollowed}
		u.lintCache(s.Step, t.outputSegments(s.Step, ""), warned)
		u.lintFileCache(s.Step, t, warned)
	}
}

// lintCache warns of the first piece that changes, if enough text follows it.
func (u *unit) lintCache(s *Step, segments []segment, warned map[Position]bool) {
	first := slices.IndexFunc(segments, func(s segment) bool { return s.changing != "" })
	if first < 0 || warned[segments[first].pos] {
		return
	}
	changing, after := segments[first], 0
	for _, rest := range segments[first+1:] {
		after += rest.stable
	}
	if after >= minCached {
		warned[changing.pos] = true
		u.warn(changing.pos, "%s changes with every request of step %q, and %d KiB that stay the same come after it: providers cannot cache them",
			changing.changing, s.ID, after>>10).hint("put what changes after what stays the same, or into the last message")
	}
}

// lintFileCache warns of a text whose beginning changes, before files of the machine.
func (u *unit) lintFileCache(s *Step, t *promptTracer, warned map[Position]bool) {
	pieces := piecesOf(s, "/system")
	files := slices.IndexFunc(pieces, func(p calls.PromptPiece) bool { return p.IsFiles })
	for _, piece := range pieces[:max(0, files)] {
		for _, part := range t.pieceSegments(s, piece) {
			if part.changing == "" {
				continue
			}
			warned[part.pos] = true
			u.warn(part.pos, "%s changes with every request, and the files of the workspace come after it: providers cannot cache them", part.changing).
				hint("leave it out of the text before the files, and put it into the message that the user sends")
			return
		}
	}
}
