package sqlite

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
	var lists [][]memory.Scored
	for _, name := range names {
		err := s.withUser(ctx, name, func(v *view) error {
			found, err := memory.SearchUser(ctx, v, q)
			lists = append(lists, found)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return &memory.Found{Memories: memory.Merge(q, lists...)}, nil
}
