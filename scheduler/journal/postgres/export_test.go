package postgres

import "github.com/callnode/scheduler/scheduler/journal/internal/stored"

// MoveElsewhere makes the journal hold runs as a process of another machine.
func (j *Postgres) MoveElsewhere() { j.self = stored.Process{PID: 7, Host: "elsewhere"} }
