package sqlmemory

import (
	"context"
	"sync"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/facts"
	"github.com/callnode/scheduler/llm/value/wording"
)

// rereadAtOnce is the number of memories whose facts are read in one change.
const rereadAtOnce = 1000

// rereader reads in the background the facts of memories that older rules have read, or that have not been read.
// If the process ends meanwhile, the next one reads the rest. It is safe for concurrent use.
type rereader struct {
	end  context.CancelFunc
	over sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	done, of int64
}

// note returns a sentence for a search while facts are being read; "" otherwise.
func (r *rereader) note() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == 0 {
		return ""
	}
	return wording.Say("facts are being read (%d%%)", 100*r.done/r.of).In("")
}

// outdated is a user whose memories wait to be read.
type outdated struct {
	id, next, n, generation int64
	name                    string
}

// findOutdated returns the users whose facts were read by older rules, or were not read.
func (s *Store) findOutdated(ctx context.Context) (list []outdated, err error) {
	err = s.db.read(ctx, func(c conn) error {
		list = nil
		return c.QueryRows("SELECT u.id, u.name, u.facts_next, "+nextNumber+", u.generation FROM memory_user u WHERE u.facts < $1 ORDER BY u.id", []any{facts.Version}, func(scan func(...any) error) error {
			var u outdated
			err := scan(&u.id, c.scanText(&u.name), &u.next, &u.n, &u.generation)
			list = append(list, u)
			return err
		})
	})
	return list, err
}

// startRereading reads the facts that are missing, in the background.
func (s *Store) startRereading(ctx context.Context) error {
	if s.factOptions.Off {
		return nil
	}
	list, err := s.findOutdated(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	ctx, s.rereading.end = context.WithCancel(context.WithoutCancel(ctx))
	s.rereading.over.Go(func() {
		if err := s.rereadUsers(ctx, list); err != nil && ctx.Err() == nil {
			s.log.Warn("the facts of memories could not be read", "error", err)
		}
	})
	return nil
}

// stopRereading ends the work in the background.
func (s *Store) stopRereading() {
	if s.rereading.end != nil {
		s.rereading.end()
	}
	s.rereading.over.Wait()
}

// RebuildFacts drops the facts of users and reads them again.
func (s *Store) RebuildFacts(ctx context.Context, users memory.Users) error {
	if s.factOptions.Off {
		return nil
	}
	names, err := s.userNames(ctx, users)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := s.db.change(ctx, func(c conn) error {
			_, err := c.Exec("UPDATE memory_user SET facts = 0, facts_next = 0 WHERE name = $1", c.d.encode(name))
			return err
		})
		if err != nil {
			return err
		}
	}
	list, err := s.findOutdated(ctx)
	if err != nil {
		return err
	}
	return s.rereadUsers(ctx, list)
}

// rereadUsers reads the facts of users, some memories at a time.
func (s *Store) rereadUsers(ctx context.Context, list []outdated) error {
	r := &s.rereading
	r.mu.Lock()
	for _, u := range list {
		r.of += u.n
	}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.done, r.of = 0, 0
		r.mu.Unlock()
	}()
	for i := range list {
		for isOver := false; !isOver; {
			var err error
			isOver, err = s.rereadSome(ctx, &list[i])
			if err != nil {
				return err
			}
			r.mu.Lock()
			r.done = min(r.of, r.done+rereadAtOnce)
			r.mu.Unlock()
		}
	}
	return nil
}

// readMemory is a memory with its facts.
type readMemory struct {
	rid     int64
	reading facts.Reading
}

// rereadSome reads the next memories of a user, and stores their facts unless the memories have changed meanwhile
// or another process was faster.
func (s *Store) rereadSome(ctx context.Context, u *outdated) (isOver bool, err error) {
	var memories []readMemory
	gone := false
	err = s.db.readSnapshot(ctx, func(c conn) error {
		memories = nil
		found, err := c.QueryRow("SELECT u.facts_next, u.generation FROM memory_user u WHERE u.id = $1 AND u.facts < $2", []any{u.id, facts.Version}, &u.next, &u.generation)
		gone = !found
		if err != nil || gone {
			return err
		}
		return c.QueryRows(selectMemory+" WHERE m.rid BETWEEN $1 AND $2 ORDER BY m.rid LIMIT $3", []any{ridOf(u.id, u.next), ridOf(u.id, lastSeq), rereadAtOnce}, func(scan func(...any) error) error {
			var m memory.BaseMemory
			var rid int64
			err := scan(c.memoryColumns(&rid, &m)...)
			memories = append(memories, readMemory{rid, s.factOptions.read(&m)})
			return err
		})
	})
	if err != nil || gone {
		return gone, err
	}
	isOver = len(memories) < rereadAtOnce
	return isOver, s.db.change(ctx, func(c conn) error {
		if _, err := s.db.lockUsers(c, false, []string{u.name}); err != nil {
			return err
		}
		var next, generation int64
		found, err := c.QueryRow("SELECT facts_next, generation FROM memory_user WHERE id = $1", []any{u.id}, &next, &generation)
		if err != nil || !found {
			return err
		}
		if next != u.next || generation != u.generation {
			isOver = false // others have changed something: it is read again
			return nil
		}
		return c.Pipeline(u.storeRead(c, memories, isOver)...)
	})
}

// storeRead returns the statements that replace the facts of memories.
func (u *outdated) storeRead(c conn, memories []readMemory, isOver bool) []database.Statement {
	rids := make([]int64, len(memories))
	for i := range memories {
		rids[i] = memories[i].rid
	}
	list := dropFacts(rids)
	for i := range memories {
		list = append(list, addFacts(c, u.id, memories[i].rid, &memories[i].reading)...)
	}
	if isOver {
		return append(list, database.Statement{Query: "UPDATE memory_user SET facts = $1, facts_next = 0 WHERE id = $2", Args: []any{facts.Version, u.id}})
	}
	next := rids[len(rids)-1]&lastSeq + 1
	return append(list, database.Statement{Query: "UPDATE memory_user SET facts_next = $1 WHERE id = $2", Args: []any{next, u.id}})
}
