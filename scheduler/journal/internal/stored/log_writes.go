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

// RefuseLocked makes err the answer to every further write, and returns it for the caller to report.
func (h *LogState) RefuseLocked(err error) error {
	h.ErrLocked = err
	if errors.Is(err, h.untoldLocked) {
		h.untoldLocked = nil
	}
	return err
}

// SettleWrite records the result of a write. isTold reports whether the writer waits for it; else a failure is
// reported to the next writer, or when the log is closed.
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

// BeginClose ends the writing; it returns false if that was done before.
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
