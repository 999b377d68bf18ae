package pgdb

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// The error codes of Postgres that decide how to go on.
const (
	codeUniqueViolation = "23505"
	codeForeignKey      = "23503"
	codeReadOnly        = "25006"
	codeUndefinedTable  = "42P01"
	codeOutOfMemory     = "53200"
	codeDiskFull        = "53100"
	codeTooMany         = "53300"
	codeBadPassword     = "28P01"
	codeBadAuth         = "28000"
	codeNoDatabase      = "3D000"
	codeNoSchema        = "3F000"
	codeNoPrivilege     = "42501"
)

// codeOf returns the SQLSTATE of an error, "" for other errors.
func codeOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// IsUniqueViolation reports whether a row could not be written because one with the same
// key exists.
func IsUniqueViolation(err error) bool { return codeOf(err) == codeUniqueViolation }

// IsForeignKeyViolation reports whether a row refers to one that does not exist, or one could
// not be deleted because another refers to it.
func IsForeignKeyViolation(err error) bool { return codeOf(err) == codeForeignKey }

// Again marks an error of a function as one that passes: the store calls the function again,
// as after a conflict.
func Again(err error) error { return againError{err} }

type againError struct{ error }

func (e againError) Unwrap() error { return e.error }

// isLost reports whether an operation failed because the server could not be reached, or was
// stopped or started meanwhile: another attempt can succeed.
func isLost(err error) bool {
	if err == nil {
		return false
	}
	if code := codeOf(err); code != "" {
		passing := []string{"57P01", "57P02", "57P03", "57P05", "25P03", codeTooMany, codeReadOnly}
		return strings.HasPrefix(code, "08") || slices.Contains(passing, code)
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	isBroken := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, pgx.ErrTxClosed)
	return isBroken || pgconn.SafeToRetry(err) || errors.As(err, &connecting) || errors.As(err, &network) ||
		strings.Contains(err.Error(), "conn closed")
}

// isConflict reports whether a transaction was undone because of another one.
func isConflict(err error) bool {
	code := codeOf(err)
	var again againError
	return code == "40001" || code == "40P01" || errors.As(err, &again)
}

// isReadOnly reports whether the server takes no changes: it is a replica.
func isReadOnly(err error) bool { return codeOf(err) == codeReadOnly }

var errNoSchema = wording.Errorf("the schema does not exist")

// errBadURL is wrapped by the errors of URLs that are not of Postgres. The driver's text shows
// no password.
var errBadURL = wording.Errorf("the URL of the database is not valid")

// NewerError means that a newer version of the program has changed the schema.
type NewerError struct {
	// Has is the version of the schema, Known the newest that this program knows.
	Has, Known int64
}

// Error names both versions.
func (e *NewerError) Error() string { return e.In("en") }

// In names both versions, in a language.
func (e *NewerError) In(language string) string {
	return wording.Say("a newer version of the program has changed its tables (schema version %d; this program knows versions up to %d)", e.Has, e.Known).In(language)
}

// Explain returns an error that names the store and its database and suggests a remedy. Errors that have a hint
// already, and errors of contexts, are returned unchanged. doing is a gerund, for example "reading".
func (s *Store) Explain(doing string, err error) error {
	var known *calls.Error
	isOfContext := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !isConnectError(err)
	if err == nil || isOfContext || errors.As(err, &known) {
		return err
	}
	if keep := s.options.KeepError; keep != nil && keep(err) {
		return err
	}
	if s.closed.Load() {
		err = ErrClosed
	}
	err = shortenConnectError(err)
	fail := func(kind calls.Kind) *calls.Error {
		return calls.Errorf(kind, "%s the %s in %s: %w", wording.Of(doing), wording.Of(s.options.Name), wording.Of(s.place), err)
	}
	describe := func(kind calls.Kind, hint string, args ...any) error { return fail(kind).WithHint(hint, args...) }
	var newer *NewerError
	switch code := codeOf(err); {
	case errors.Is(err, errBadURL):
		return describe(calls.Invalid, "write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require; special characters of the password are written as %%XX")
	case errors.As(err, &newer):
		return describe(calls.Invalid, "use that version of the program, or another database")
	case code == codeBadPassword, code == codeBadAuth:
		return describe(calls.Invalid, "check the user and the password in the URL, and pg_hba.conf of the server")
	case code == codeNoDatabase:
		return describe(calls.Invalid, "create it with: createdb %s, or correct the URL", s.database)
	case code == codeNoSchema, errors.Is(err, errNoSchema):
		return describe(calls.Invalid, "create the schema that search_path in the URL names, or leave search_path out")
	case code == codeNoPrivilege:
		return describe(calls.Invalid, "grant the user of the URL the right to create and change tables: GRANT CREATE, USAGE ON SCHEMA public TO USER")
	case code == codeTooMany:
		return describe(calls.Internal, "raise max_connections of the server, or put PgBouncer in front of it")
	case code == codeDiskFull:
		err = wording.Errorf("%w (%w)", calls.ErrNoRoom, err)
		return describe(calls.Internal, "the server has no space left: free some and try again; what was stored before is safe")
	case code == codeOutOfMemory:
		return describe(calls.Internal, "the server has no space left: free some and try again; what was stored before is safe")
	case isLost(err):
		return describe(calls.Internal, "check that the server runs and that this machine can reach it, then try again; what was stored before is safe")
	}
	return fail(calls.Internal)
}

// connectError is a [pgconn.ConnectError] in one line.
type connectError struct {
	text wording.Text
	error
}

// Error names the attempts.
func (e connectError) Error() string { return e.text.En }

// In names the attempts, in a language.
func (e connectError) In(language string) string { return e.text.In(language) }

// Unwrap returns the error of the driver.
func (e connectError) Unwrap() error { return e.error }

// shortenConnectError returns the error of a connection in one line: the driver tries each address with TLS and
// without, and reports all of it.
func shortenConnectError(err error) error {
	var connecting *pgconn.ConnectError
	if !errors.As(err, &connecting) {
		return err
	}
	attempts, ok := connecting.Unwrap().(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var texts, refusals []wording.Text
	for _, attempt := range attempts.Unwrap() {
		text := wording.OfError(attempt)
		switch {
		case slices.Contains(texts, text):
		case strings.Contains(text.En, "server refused TLS connection"):
			refusals = append(refusals, text)
		default:
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		texts = refusals
	}
	return connectError{wording.Say("failed to connect: %s", wording.Join(texts, "; ", "；")), err}
}

func isConnectError(err error) bool {
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting)
}
