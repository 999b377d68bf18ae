package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/fleet"
)

var _ fleet.Registry = (*Store)(nil)

// workerRecord is the stored form of a [fleet.Worker].
type workerRecord struct {
	fleet.Worker
	Left []fleet.Left `json:"left,omitempty"`
}

// PutWorker writes the record of a process, which is alive now, and deletes the records of processes that have
// been silent for [fleet.ForgetAfter].
func (s *Store) PutWorker(ctx context.Context, w *fleet.Worker) error {
	now := s.clock()
	stored := workerRecord{*w, w.Left}
	stored.LastBeat = now
	stored.Host, stored.Version = storable(w.Host), storable(w.Version)
	record, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	return s.write(ctx, func(c database.Conn) error {
		err := exec(c, "INSERT INTO serve_worker(id, beat, record) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET beat = excluded.beat, record = excluded.record",
			w.ID, now.UnixMilli(), record)
		if err != nil {
			return err
		}
		return exec(c, "DELETE FROM serve_worker WHERE beat < $1", now.Add(-fleet.ForgetAfter).UnixMilli())
	})
}

// RemoveWorker deletes the record of a process that ends.
func (s *Store) RemoveWorker(ctx context.Context, id string) error {
	return s.write(ctx, func(c database.Conn) error { return exec(c, "DELETE FROM serve_worker WHERE id = $1", id) })
}

// Workers lists the processes that carry runs out, by host, then by age.
func (s *Store) Workers(ctx context.Context) (all []*fleet.Worker, err error) {
	now := s.clock()
	err = s.db.Read(ctx, func(c database.Conn) error {
		all = nil
		return c.QueryRows("SELECT beat, record FROM serve_worker", nil, func(scan func(...any) error) error {
			var beat int64
			var record []byte
			if err := scan(&beat, &record); err != nil {
				return err
			}
			var stored workerRecord
			if err := json.Unmarshal(record, &stored); err != nil {
				return wording.Errorf("reading the record of a worker: %w", err)
			}
			w := stored.Worker
			w.Left, w.LastBeat = stored.Left, time.UnixMilli(beat)
			if now.Sub(w.LastBeat) > fleet.LostAfter {
				w.State = fleet.Lost
			}
			all = append(all, &w)
			return nil
		})
	})
	slices.SortFunc(all, func(a, b *fleet.Worker) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}
