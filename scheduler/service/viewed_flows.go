package service

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"github.com/callnode/scheduler/scheduler/flow"
)

// maxViewedBytes bounds the texts of the flows that are kept for display.
const maxViewedBytes = 4 << 20

// viewedFlows keeps flows that were read from the journal for display: many runs have the same text, and reading a
// flow of many steps takes longer than the events of its run. A Service has one for its life; it is safe for
// concurrent use.
type viewedFlows struct {
	mu     sync.Mutex // guards the fields below
	byText map[[sha256.Size]byte]*flow.Flow
	bytes  int
}

// load returns the flow of a file with this text and these other files, read now or before.
// Flows that cannot be read are not kept.
func (v *viewedFlows) load(loader *flow.Loader, file string, source []byte, files map[string][]byte) (*flow.Flow, error) {
	key, size := hashTexts(file, source, files)
	v.mu.Lock()
	known := v.byText[key]
	v.mu.Unlock()
	if known != nil {
		return known, nil
	}
	f, problems := loader.LoadText(file, source, files)
	if f == nil {
		return nil, problems.Err()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byText == nil || v.bytes+size > maxViewedBytes {
		v.byText, v.bytes = map[[sha256.Size]byte]*flow.Flow{}, 0
	}
	v.byText[key] = f
	v.bytes += size
	return f, nil
}

// hashTexts returns a hash of all that a flow is read from, and how many bytes that has.
func hashTexts(file string, source []byte, files map[string][]byte) (key [sha256.Size]byte, size int) {
	h := sha256.New()
	add := func(text []byte) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(text))) // a hash takes all
		h.Write(text)
		size += len(text)
	}
	add([]byte(file))
	add(source)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		add([]byte(name))
		add(files[name])
	}
	return [sha256.Size]byte(h.Sum(nil)), size
}
