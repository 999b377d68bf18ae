package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Salvage is a connection to a file that may be damaged. Unlike others, it changes nothing:
// closing it neither moves the log into the file nor removes it. It must not be used by
// several goroutines at once.
type Salvage struct {
	*Conn
	db *sql.DB
}

// OpenSalvage opens a damaged file for reading, as far as its schema can be read.
func OpenSalvage(ctx context.Context, file string) (*Salvage, error) {
	if err := checkRegular(file); err != nil {
		return nil, err
	}
	access := []string{"immutable", "1"}
	if sizeOf(file+"-wal") > 0 || sizeOf(file+"-shm") >= 0 {
		access = []string{"mode", "ro"}
	}
	// With a schema that could be written, SQLite also reads a file whose end is missing.
	db, err := connectWith(file, time.Minute, []string{"writable_schema(1)", "query_only(1)"}, access...)
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &Salvage{newConn(c), db}
	if _, err := s.QueryRow("SELECT count(*) FROM sqlite_schema", nil, new(int)); err != nil {
		_ = s.Close() // err says more
		return nil, err
	}
	return s, nil
}

// Close closes the connection.
func (s *Salvage) Close() error { return errors.Join(s.close(), s.db.Close()) }
