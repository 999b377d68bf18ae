package pgdb

import (
	"cmp"
	"context"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The pools of a store.
const (
	defaultWriters = 2
	defaultReaders = 4
	defaultRetry   = 30 * time.Second
	// connectTimeout bounds one attempt to connect, unless the URL does.
	connectTimeout = 10 * time.Second
)

// Open connects to the database of a store and brings its schema up to date.
func Open(ctx context.Context, options Options) (*Store, error) {
	options.Retry = cmp.Or(options.Retry, defaultRetry)
	s := &Store{options: options, place: unknownPlace}
	if err := s.open(ctx); err != nil {
		err = s.Explain("opening", err)
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	o := &s.options
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return wording.Errorf("%w: %w", errBadURL, err)
	}
	s.place, s.database = describePlace(config), config.Database
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "scheduler"
	}
	config.RuntimeParams["timezone"] = "UTC"
	s.writers, err = newPool(ctx, config, cmp.Or(o.Writers, defaultWriters))
	if err != nil {
		return err
	}
	s.readers, err = newPool(ctx, config, cmp.Or(o.Readers, defaultReaders))
	if err != nil {
		return err
	}
	s.notices = newNotices(s.readers, o.Channels, config)
	return s.migrate(ctx, config)
}

// newPool returns a pool that connects when it is used.
func newPool(ctx context.Context, connection *pgx.ConnConfig, size int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	config.ConnConfig = connection.Copy()
	config.MaxConns = int32(size) //nolint:gosec // a handful
	config.MinConns = 0
	config.PingTimeout = connectTimeout
	return pgxpool.NewWithConfig(ctx, config)
}
