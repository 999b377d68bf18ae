package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// Spawner starts processes from one thread that lives as long as the host: the kernel
// kills a child when the thread that started it ends (see setOwnGroup). The zero value is
// ready; a host has one. It is safe for concurrent use.
type Spawner struct {
	mu   sync.Mutex
	jobs chan func() // guarded by mu; nil before the first start
}

func (s *Spawner) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	if s.jobs == nil {
		s.jobs = make(chan func())
		go func(jobs <-chan func()) {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			closeInheritedFiles()
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

// Close ends the thread, and with it all processes that still run.
func (s *Spawner) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs != nil {
		close(s.jobs)
		s.jobs = nil
	}
}
