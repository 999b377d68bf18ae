package sqljournal

import (
	"context"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// Exec changes the database behind the journal's back.
func (j *Journal) Exec(query string, args ...any) error {
	return j.write(context.Background(), func(c database.Conn) error {
		_, err := c.Exec(query, args...)
		return err
	})
}

// MoveElsewhere makes the journal hold runs as a process of another machine.
func (j *Journal) MoveElsewhere() { j.self = stored.Process{PID: 7, Host: "elsewhere"} }
