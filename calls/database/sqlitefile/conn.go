package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Conn is a connection that keeps its statements prepared. The writer and each reader of
// a [Store] have one; it is valid during the call of the function that it is passed to,
// on that goroutine only.
type Conn struct {
	sql        *sql.Conn
	statements map[string]*sql.Stmt
}

func newConn(c *sql.Conn) *Conn { return &Conn{sql: c, statements: map[string]*sql.Stmt{}} }

// The driver starts a goroutine per statement for a context that can end, so statements
// run without one; long work checks its context between statements.
var background = context.Background()

func (c *Conn) prepare(query string) (*sql.Stmt, error) {
	if stmt := c.statements[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.sql.PrepareContext(background, query)
	if err == nil {
		c.statements[query] = stmt
	}
	return stmt, err
}

// Exec runs a statement.
func (c *Conn) Exec(query string, args ...any) error {
	_, err := c.ExecCount(query, args...)
	return err
}

// ExecCount runs a statement and returns the number of rows it changed.
func (c *Conn) ExecCount(query string, args ...any) (int64, error) {
	stmt, err := c.prepare(query) //nolint:sqlclosecheck // kept for the life of the connection
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(background, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// QueryRow reads the first row of a query into dest. found is false if there is none.
func (c *Conn) QueryRow(query string, args []any, dest ...any) (found bool, err error) {
	stmt, err := c.prepare(query) //nolint:sqlclosecheck // kept for the life of the connection
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(background, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// QueryRows calls each for every row of a query, until it returns an error.
func (c *Conn) QueryRows(query string, args []any, each func(scan func(...any) error) error) (err error) {
	stmt, err := c.prepare(query) //nolint:sqlclosecheck // kept for the life of the connection
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(background, args...)
	if err != nil {
		return err
	}
	defer func() {
		if end := rows.Close(); err == nil {
			err = end
		}
	}()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// SetBusyTimeout sets how long SQLite waits for a locked file. SQLite reads it when it
// prepares a statement, so this one is not kept prepared.
func (c *Conn) SetBusyTimeout(busy time.Duration) error {
	_, err := c.sql.ExecContext(background, fmt.Sprintf("PRAGMA busy_timeout = %d", busy.Milliseconds()))
	return err
}

func (c *Conn) close() error {
	var errs []error
	for _, stmt := range c.statements {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.sql.Close())...)
}
