package pgdb

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// How often a subscription wakes its reader without notice: if notices arrive, and if they do not.
const (
	pollListening = time.Second
	pollDeaf      = 250 * time.Millisecond
)

const (
	// noticeInterval is how often notice is sent at most: every one takes a lock of the
	// whole server.
	noticeInterval = 10 * time.Millisecond
	// noticeTimeout bounds one sending; a program that misses it checks by itself later.
	noticeTimeout = 5 * time.Second
	// maxNotice is how long the text of a notice may be.
	maxNotice = 7000
)

// notice is a text that is sent on a channel.
type notice struct{ channel, text string }

// notices sends and receives them for a store, which makes it when it is opened. Each direction has a goroutine, which begins
// when it is needed first. It is safe for concurrent use.
type notices struct {
	senders  *pgxpool.Pool
	channels []string        // the channels listened on
	config   *pgx.ConnConfig // of the connection that listens
	ctx      context.Context //nolint:containedctx // it ends the goroutines
	end      context.CancelFunc
	tasks    sync.WaitGroup
	// listening is set while notice arrives.
	listening atomic.Bool
	sending   sync.Once
	receiving sync.Once
	wake      chan struct{}

	mu            sync.Mutex // guards the fields below
	pending       map[notice]struct{}
	subscriptions map[notice]map[*Subscription]struct{}
}

func newNotices(senders *pgxpool.Pool, channels []string, config *pgx.ConnConfig) *notices {
	n := &notices{
		senders: senders, channels: channels, config: config.Copy(), wake: make(chan struct{}, 1),
		pending: map[notice]struct{}{}, subscriptions: map[notice]map[*Subscription]struct{}{},
	}
	n.ctx, n.end = context.WithCancel(context.Background())
	return n
}

// close ends the goroutines, after the pending notices are sent.
func (n *notices) close() {
	n.end()
	n.tasks.Wait()
}

// add sends a notice, unless it is too long.
func (n *notices) add(one notice) {
	if len(one.text) > maxNotice || n.ctx.Err() != nil {
		return
	}
	n.mu.Lock()
	n.pending[one] = struct{}{}
	n.mu.Unlock()
	n.sending.Do(func() { n.tasks.Go(n.send) })
	select {
	case n.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// send sends the pending notices, at most every noticeInterval.
func (n *notices) send() {
	for ended := false; !ended; {
		select {
		case <-n.wake:
		case <-n.ctx.Done():
			ended = true
		}
		n.sendPending()
		select {
		case <-time.After(noticeInterval):
		case <-n.ctx.Done():
		}
	}
}

func (n *notices) sendPending() {
	n.mu.Lock()
	var channels, texts []string
	for one := range n.pending {
		channels, texts = append(channels, one.channel), append(texts, one.text)
	}
	clear(n.pending)
	n.mu.Unlock()
	if len(texts) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), noticeTimeout)
	defer cancel()
	// A program that misses the notice checks by itself soon.
	_ = attempt(ctx, n.senders, func(conn *pgxpool.Conn) error {
		c := &Conn{conn}
		// The commit of a notice need not wait for the disk.
		_, err := c.Exec(ctx, `SELECT set_config('synchronous_commit', 'off', true), pg_notify(channel, text)
			FROM unnest($1::text[], $2::text[]) n(channel, text)`, channels, texts)
		return err
	})
}

// Subscription waits for notice of one text on a channel. [Store.Subscribe] makes it, and
// its Close ends it. It is for one goroutine.
type Subscription struct {
	notices *notices
	of      notice
	noticed chan struct{}
}

// subscribe is [Store.Subscribe].
func (n *notices) subscribe(of notice) *Subscription {
	sub := &Subscription{notices: n, of: of, noticed: make(chan struct{}, 1)}
	n.mu.Lock()
	all := n.subscriptions[sub.of]
	if all == nil {
		all = map[*Subscription]struct{}{}
		n.subscriptions[sub.of] = all
	}
	all[sub] = struct{}{}
	n.mu.Unlock()
	if n.ctx.Err() == nil && len(n.channels) > 0 {
		n.receiving.Do(func() { n.tasks.Go(n.receive) })
	}
	return sub
}

// Wait returns when there may be something to read: after notice, or after a while without. The error is ctx's, or
// [ErrClosed].
func (sub *Subscription) Wait(ctx context.Context) error {
	poll := pollDeaf
	if sub.notices.listening.Load() {
		poll = pollListening
	}
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-sub.noticed:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-sub.notices.ctx.Done():
		return ErrClosed
	}
	return nil
}

// Noticed receives when there may be something to read, but not if the notice is lost. It is for readers that also
// check from time to time and do not use Wait.
func (sub *Subscription) Noticed() <-chan struct{} { return sub.noticed }

// Close ends the subscription.
func (sub *Subscription) Close() {
	n := sub.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.subscriptions[sub.of], sub)
	if len(n.subscriptions[sub.of]) == 0 {
		delete(n.subscriptions, sub.of)
	}
}

func (sub *Subscription) wakeReader() {
	select {
	case sub.noticed <- struct{}{}:
	default: // it will look anyway
	}
}

// receive listens until the store is closed; after a lost connection on a new one.
func (n *notices) receive() {
	for pause := minPause; n.ctx.Err() == nil; pause = min(2*pause, maxPause) {
		if n.listen() {
			pause = minPause
		}
		n.listening.Store(false)
		select {
		case <-time.After(pause):
		case <-n.ctx.Done():
		}
	}
}

// listen passes on the notices of one connection until it is lost, and reports whether anything did.
func (n *notices) listen() (arrived bool) {
	conn, err := pgx.ConnectConfig(n.ctx, n.config)
	if err != nil {
		return false
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // there is nothing to lose
	}()
	for _, channel := range n.channels {
		if _, err := conn.Exec(n.ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return false
		}
	}
	n.wakeAll() // something may have been missed
	// Whether notice arrives shows when one does: a pool of transactions accepts LISTEN, and
	// nothing ever comes.
	probe := notice{n.channels[0], rand.Text()}
	n.add(probe)
	for {
		got, err := conn.WaitForNotification(n.ctx)
		if err != nil {
			return arrived
		}
		if !arrived {
			arrived = true
			n.listening.Store(true)
		}
		n.wakeSubscribers(notice{got.Channel, got.Payload})
	}
}

func (n *notices) wakeSubscribers(of notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for sub := range n.subscriptions[of] {
		sub.wakeReader()
	}
}

func (n *notices) wakeAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, all := range n.subscriptions {
		for sub := range all {
			sub.wakeReader()
		}
	}
}
