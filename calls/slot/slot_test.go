package slot_test

import (
	"testing"

	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/slot"
)

func TestConformance(t *testing.T) { callstest.Run(t, slot.Definition()) }
