package sqlite

import (
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// Exec changes the file behind the journal's back.
func (j *SQLite) Exec(query string, args ...any) error {
	return j.write(func(c *sqlitefile.Conn) error {
		err := c.Exec(query, args...)
		return err
	})
}
