package heap_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/heap"
	"github.com/callnode/scheduler/calls/memory/memorytest"
)

func TestConformance(t *testing.T) {
	memorytest.Run(t, func(_ *testing.T, clock func() time.Time) memory.Store { return heap.New(clock) })
}
