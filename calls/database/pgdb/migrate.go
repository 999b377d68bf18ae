package pgdb

import (
	"context"
	"hash/fnv"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/callnode/scheduler/llm/value/wording"
)

// lockWait is how many seconds another program that migrates is waited for.
const lockWait = 300

// migrate brings the schema up to date. If it is already, that takes one query.
func (s *Store) migrate(ctx context.Context, config *pgx.ConnConfig) error {
	newest, err := newestMigration(s.options.Migrations)
	if err != nil {
		return err
	}
	has, err := s.readVersion(ctx)
	if err != nil {
		return err
	}
	if has < newest {
		if err := s.runMigrations(ctx, config); err != nil {
			return err
		}
		has, err = s.readVersion(ctx)
	}
	if err == nil && has > newest {
		err = &NewerError{Has: has, Known: newest}
	}
	return err
}

// newestMigration returns the greatest number among the files.
func newestMigration(files fs.FS) (newest int64, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		digits, _, _ := strings.Cut(name, "_")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return 0, wording.Errorf("the migration %s has no number", name)
		}
		newest = max(newest, n)
	}
	return newest, nil
}

// readVersion returns the version of the schema; 0 is one without tables.
func (s *Store) readVersion(ctx context.Context) (version int64, err error) {
	var schema *string
	err = s.retry(ctx, s.writers, func(conn *pgxpool.Conn) error {
		c := &Conn{conn}
		if _, err := c.QueryRow(ctx, "SELECT current_schema()", nil, &schema); err != nil {
			return err
		}
		_, err := c.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+s.options.VersionTable+" WHERE is_applied", nil, &version)
		if codeOf(err) == codeUndefinedTable {
			return nil
		}
		return err
	})
	if err == nil && schema == nil {
		err = errNoSchema
	}
	if err == nil {
		s.schema = *schema
	}
	return version, err
}

// runMigrations runs the migrations that are missing, while no other program does.
func (s *Store) runMigrations(ctx context.Context, config *pgx.ConnConfig) error {
	db := stdlib.OpenDB(*config)
	defer db.Close()
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(s.lockID()), lock.WithLockTimeout(1, lockWait))
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, s.options.Migrations,
		goose.WithTableName(s.options.VersionTable), goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	// Another program may have run them meanwhile, a newer one further ones.
	_, err = provider.Up(ctx)
	return err
}

// lockID returns the number of the lock for these tables: stores and schemas of one database
// do not wait for each other.
func (s *Store) lockID() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.schema + "." + s.options.VersionTable)) // it never fails
	return int64(h.Sum64())                                         //nolint:gosec // any number will do
}
