// Package startup puts off the first garbage collection of the program: most commands end with a
// few megabytes, and a collection every 4 MB was a sixth of the time that `scheduler run` takes to
// start. It depends on little, so that it is initialised before the packages that allocate.
package startup

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// usualPercent is GOGC as Go sets it: a collection begins once the heap is twice as large as
	// after the last one, and at 4 MB.
	usualPercent = 100
	// firstPercent lets the first collection begin at 32 MB.
	firstPercent = 8 * usualPercent
)

func init() {
	if os.Getenv("GOGC") != "" { // the user has set it
		return
	}
	debug.SetGCPercent(firstPercent)
	// The first collection finds that nothing refers to this.
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, usualPercent)
}
