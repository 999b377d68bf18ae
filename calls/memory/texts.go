package memory

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/ask"
)

// Texts returns the prompts of a [SnapshotGenerator], for the calls that use one.
func Texts() calls.Texts { return ask.Texts("memory", prompts) }
