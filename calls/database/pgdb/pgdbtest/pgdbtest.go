// Package pgdbtest has a Postgres server for tests.
//
// [NewURL] returns a database of its own for a test, on a server that the test binary shares: a private one, made
// by initdb and gone with the binary, or the one at the variable SCHEDULER_TEST_POSTGRES_URL. If there is neither,
// the test is skipped, or fails if REQUIRE_POSTGRES is set. [NewServer] returns a private server that a test may
// stop.
package pgdbtest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The variables that decide which server is used.
const (
	variableURL      = "SCHEDULER_TEST_POSTGRES_URL"
	variableRequired = "REQUIRE_POSTGRES"
)

// shared is the server of this test binary. It ends with the binary.
var shared = sync.OnceValues(startServer)

// NewURL returns the URL of an empty schema, which is dropped at the end of the test.
func NewURL(t testing.TB) string {
	t.Helper()
	if base := os.Getenv(variableURL); base != "" {
		return newSchema(t, base)
	}
	server, err := shared()
	if err != nil {
		skip(t, err)
	}
	return newSchema(t, server.url())
}

// Available reports whether [NewURL] would return one. It starts no server.
func Available() bool {
	if os.Getenv(variableURL) != "" {
		return true
	}
	_, err := findPrograms()
	return err == nil
}

// skip skips a test that has no server, or fails it if one is required.
func skip(t testing.TB, err error) {
	t.Helper()
	if os.Getenv(variableRequired) != "" {
		t.Fatalf("this test needs Postgres, and %s is set: %v", variableRequired, err)
	}
	t.Skipf("SKIPPED, THIS TEST NEEDS POSTGRES: %v (install it, for example by apt-get install postgresql, or set %s)", err, variableURL)
}

func newSchema(t testing.TB, base string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text()[:16])
	execute(t, base, "CREATE SCHEMA "+name)
	t.Cleanup(func() { execute(t, base, "DROP SCHEMA "+name+" CASCADE") })
	u, err := url.Parse(base)
	if err != nil {
		t.Fatalf("the URL of the database is not valid") // it may hold a password
	}
	query := u.Query()
	query.Set("search_path", name)
	u.RawQuery = query.Encode()
	return u.String()
}

// Exec runs a statement in a database, without the code under test.
func Exec(t testing.TB, url, statement string, args ...any) {
	t.Helper()
	execute(t, url, statement, args...)
}

// QueryInt returns the number that a query selects.
func QueryInt(t testing.TB, url, query string, args ...any) (n int64) {
	t.Helper()
	withConn(t, url, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, query, args...).Scan(&n)
	})
	return n
}

func execute(t testing.TB, url, statement string, args ...any) {
	t.Helper()
	withConn(t, url, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement, args...)
		return err
	})
}

func withConn(t testing.TB, url string, do func(context.Context, *pgx.Conn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := do(ctx, conn); err != nil {
		t.Error(err)
	}
}
