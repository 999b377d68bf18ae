package host

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts processes from one thread that lives as long as the host: the
// kernel ends them when the thread that started them ends (see ownGroup).
type spawner struct {
	mu   sync.Mutex
	jobs chan func()
}

func (s *spawner) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	if s.jobs == nil {
		s.jobs = make(chan func())
		go func(jobs <-chan func()) {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			inheritNothing()
			for job := range jobs {
				job()
			}
		}(s.jobs)
	}
	done := make(chan error)
	s.jobs <- func() { done <- cmd.Start() }
	s.mu.Unlock()
	return <-done
}

// close ends the thread, and with it what still runs.
func (s *spawner) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs != nil {
		close(s.jobs)
		s.jobs = nil
	}
}
