package store

import (
	"context"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database"
)

// repeatingDatabase calls the function of every read twice, as happens with Postgres if the connection is lost
// after the last row.
type repeatingDatabase struct {
	database.Store
	between func() // runs between the two calls
}

func (d repeatingDatabase) Read(ctx context.Context, do func(database.Conn) error) error {
	if err := d.Store.Read(ctx, do); err != nil {
		return err
	}
	d.between()
	return d.Store.Read(ctx, do)
}

// TestRepeatedReads: a read that is repeated returns each row once, and none that is gone.
func TestRepeatedReads(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	between := func() {}
	s.db = repeatingDatabase{s.db, func() { between() }}
	token, _, err := s.CreateToken(t.Context(), "n", "", []Scope{Admin}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddFire(t.Context(), &Fire{Schedule: "f:s", Key: "k", At: time.Now(), State: FireOver}, false); err != nil {
		t.Fatal(err)
	}
	if err := s.AddAudit(t.Context(), []Audit{{Route: "/"}}); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Tokens(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("there are %d tokens, %v", len(all), err)
	}
	if all, err := s.LastFires(t.Context(), "f:s", 10); err != nil || len(all) != 1 {
		t.Errorf("there are %d fires, %v", len(all), err)
	}
	if all, err := s.AuditBefore(t.Context(), 0, 10); err != nil || len(all) != 1 {
		t.Errorf("there are %d entries of the audit, %v", len(all), err)
	}
	between = func() {
		if err := s.RevokeToken(t.Context(), token.ID); err != nil {
			t.Error(err)
		}
	}
	if found, _, err := s.tokenByID(t.Context(), token.ID); err != nil || found != nil {
		t.Errorf("a token that is gone is %v, %v", found, err)
	}
}
