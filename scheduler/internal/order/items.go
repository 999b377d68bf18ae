package order

// fan is a step that runs once per item.
type fan struct {
	items int
	kept  []bool // the items that are over already; nil: none
	next  int    // the first item that is not queued yet
	left  int    // items that are not over
}

// FanOut splits a running step into its items, at most limit of them queued at first; 0 is all. kept are the items
// that an earlier process has brought to their end; nil: none. It reports whether any are left to run.
func (m *Machine) FanOut(step, items, limit int, kept []bool) bool {
	f := &fan{items: items, kept: kept, left: items}
	for _, over := range kept {
		if over {
			f.left--
		}
	}
	if f.left == 0 {
		return false
	}
	if m.fans == nil {
		m.fans = map[int]*fan{}
	}
	m.fans[step] = f
	if limit <= 0 {
		limit = items
	}
	for range min(limit, items) {
		m.NextItem(step)
	}
	return true
}

// NextItem queues the next item of a step, if there is one.
func (m *Machine) NextItem(step int) {
	f := m.fans[step]
	if f == nil {
		return
	}
	for ; f.next < f.items; f.next++ {
		if len(f.kept) == 0 || !f.kept[f.next] {
			m.queue.push(Job{step, f.next})
			f.next++
			return
		}
	}
}

// HasMoreItems reports whether items of a step are not queued yet.
func (m *Machine) HasMoreItems(step int) bool {
	f := m.fans[step]
	return f != nil && f.next < f.items
}

// ItemOver notes that an item of a step has ended, and reports whether it was the last. Which item follows it, and
// when, is up to [Machine.NextItem].
func (m *Machine) ItemOver(step int) (last bool) {
	f := m.fans[step]
	f.left--
	if f.left > 0 {
		return false
	}
	delete(m.fans, step)
	return true
}
