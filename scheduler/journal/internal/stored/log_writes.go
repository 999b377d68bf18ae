package stored

import (
	"crypto/rand"
	"errors"
)

// NewLease returns a number that no other lease of a run has.
func NewLease() []byte {
	lease := make([]byte, 16)
	_, _ = rand.Read(lease) // it never fails
	return lease
}

// RefuseLocked makes err the answer to every further write, and returns it: whoever wrote is told.
func (h *LogState) RefuseLocked(err error) error {
	h.ErrLocked = err
	if errors.Is(err, h.untoldLocked) {
		h.untoldLocked = nil
	}
	return err
}

// SettleWrite takes note of how a write ended. isTold reports whether whoever wrote waits for that;
// else a failure is told to who writes next, or closes the log.
func (h *LogState) SettleWrite(err error, isTold bool) {
	if err == nil {
		return
	}
	h.Lock()
	isNew := h.ErrLocked == nil || h.closed
	if isNew && !isTold && h.untoldLocked == nil {
		h.untoldLocked = err
	}
	h.Unlock()
	h.Fail(err)
	if IsHeld(err) {
		h.Stop(err)
	}
}

// BeginClose ends the writing; it returns false where that was done before.
func (h *LogState) BeginClose() bool {
	h.Lock()
	defer h.Unlock()
	if h.closed {
		return false
	}
	h.closed = true
	if h.ErrLocked == nil {
		h.ErrLocked = ErrClosed(h.Opened.ID)
	}
	return true
}

// EndClose returns the error of closing the log: a failure of a write that was not reported, or else
// err.
func (h *LogState) EndClose(err error) error {
	h.Lock()
	defer h.Unlock()
	if h.untoldLocked != nil {
		return h.untoldLocked
	}
	return err
}
