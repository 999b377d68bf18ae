package process

import "time"

// ReaperCommand is the first argument of a program that is started as the reaper of a
// plugin: its main passes the other arguments to [Reap].
const ReaperCommand = "reap-plugin"

const (
	// killTimeout is how long a killed process is waited for: only the kernel can delay its end.
	killTimeout = 5 * time.Second
	// reaperTimeout is how long a reaper has to end its plugin; less than killTimeout.
	reaperTimeout = 3 * time.Second
)
