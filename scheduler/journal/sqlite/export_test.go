package sqlite

import (
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// Exec changes the file behind the journal's back.
func (j *SQLite) Exec(query string, args ...any) error {
	return j.write(func(c *sqlitefile.Conn) error {
		err := c.Exec(query, args...)
		return err
	})
}

// MoveElsewhere makes the journal hold runs as a process of another machine.
func (j *SQLite) MoveElsewhere() { j.self = stored.Process{PID: 7, Host: "elsewhere"} }
