package result

import "slices"

// Merge returns a run with the cases of again in place of, or added to, its own. It has the mode of again. If
// either run was interrupted, so is the result: again need not have all the cases that last did not come to.
func Merge(last, again *Run) *Run {
	merged := &Run{Mode: again.Mode, Interrupted: last.Interrupted || again.Interrupted}
	for _, s := range last.Suites {
		merged.Suites = append(merged.Suites, &Suite{File: s.File, Cases: slices.Clone(s.Cases)})
	}
	for _, s := range again.Suites {
		at := slices.IndexFunc(merged.Suites, func(old *Suite) bool { return old.File == s.File })
		if at < 0 {
			merged.Suites = append(merged.Suites, s)
			continue
		}
		merged.Suites[at].replaceCases(s.Cases)
	}
	return merged
}

// replaceCases replaces cases with the same id, and puts the others at the end.
func (s *Suite) replaceCases(cases []*Case) {
	places := make(map[string]int, len(s.Cases))
	for i, c := range s.Cases {
		places[c.ID()] = i
	}
	for _, c := range cases {
		if i, ran := places[c.ID()]; ran {
			s.Cases[i] = c
		} else {
			s.Cases = append(s.Cases, c)
		}
	}
}
