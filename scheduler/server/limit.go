package server

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/callnode/scheduler/llm/value/wording"
)

// The limits of clients.
const (
	requestRate  = 50 // per token and second
	requestBurst = 100
	failureBurst = 10 // failed logins per address and minute
	maxStreams   = 2000
	// maxImport bounds an import of memories, which is read line by line.
	maxImport = 256 << 20
	// maxClients limits the tokens and addresses that are remembered.
	maxClients = 10000
)

// limits counts the actions of clients. It is safe for concurrent use.
type limits struct {
	streams atomic.Int64

	mu       sync.Mutex // guards the fields below
	tokens   map[string]*rate.Limiter
	failures map[string]*rate.Limiter
}

func newLimits() *limits {
	return &limits{tokens: map[string]*rate.Limiter{}, failures: map[string]*rate.Limiter{}}
}

// allowRequest counts a request of a token, and reports whether it is within the limit.
func (l *limits) allowRequest(token string) bool {
	if token == "" { // the person at the machine
		return true
	}
	return l.limiterOf(l.tokens, token, requestRate, requestBurst).Allow()
}

// allowsFailure counts a failed login, and reports whether it is within the limit.
func (l *limits) allowsFailure(address string) bool {
	return l.limiterOf(l.failures, address, rate.Every(time.Minute/failureBurst), failureBurst).Allow()
}

func (l *limits) limiterOf(all map[string]*rate.Limiter, key string, r rate.Limit, burst int) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := all[key]
	if one == nil {
		if len(all) >= maxClients {
			clear(all)
		}
		one = rate.NewLimiter(r, burst)
		all[key] = one
	}
	return one
}

// openStream counts a stream, which done ends. The error is the answer if too many are open.
func (l *limits) openStream() (done func(), err error) {
	if l.streams.Add(1) > maxStreams {
		l.streams.Add(-1)
		return nil, newProblem(http.StatusServiceUnavailable, "busy", wording.Say("too many streams are open"), wording.Say("close some")).retryAfter(10)
	}
	return func() { l.streams.Add(-1) }, nil
}

// keySet is the requests with an idempotency key that are being carried out. Its zero value
// is empty; it is safe for concurrent use.
type keySet struct{ keys sync.Map }

// addNew adds a key, and reports whether it was not there.
func (k *keySet) addNew(key string) bool {
	_, isThere := k.keys.LoadOrStore(key, true)
	return !isThere
}

func (k *keySet) removeKey(key string) { k.keys.Delete(key) }
