package sqlite

import (
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value/wording"
)

// storeName is what users call the store.
const storeName = "memory store"

// damagedHint is what to do with a damaged file.
const damagedHint = "the file is damaged: save what can be read with `scheduler memory export --salvage DIR`, move the file away, and import DIR"

// errIndex means that the index contradicts itself or the memories.
var errIndex = wording.Errorf("%w: its index is wrong", sqlitefile.ErrDamaged)
