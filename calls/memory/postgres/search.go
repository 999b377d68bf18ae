package postgres

import (
	"context"

	"github.com/callnode/scheduler/calls/memory"
)

// Search returns the memories that match a query.
func (s *Store) Search(ctx context.Context, q *memory.Query) (*memory.Found, error) {
	names, err := s.userNames(ctx, q.Users)
	if err != nil {
		return nil, err
	}
	lists := make([][]memory.Scored, len(names))
	for i, name := range names {
		err := s.withUser(ctx, name, true, func(v *view) (err error) {
			lists[i], err = memory.SearchUser(ctx, v, q)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return &memory.Found{Memories: memory.Merge(q, lists...)}, nil
}
