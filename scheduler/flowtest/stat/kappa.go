package stat

// Agreement is how far two raters agree over the same items. [Kappa] makes it.
type Agreement struct {
	// Items is how many both have rated.
	Items int `json:"items"`
	// Share is the share of items on which they agree.
	Share float64 `json:"agreement"`
	// Kappa is Cohen's: 1 is full agreement, 0 as much as chance gives. It means nothing if Defined is false: both
	// gave all items one and the same rating.
	Kappa   float64 `json:"kappa"`
	Defined bool    `json:"kappa_defined"`
}

// Kappa returns how far two raters agree, by their ratings of the same items in the same order; items
// beyond the shorter list do not count.
func Kappa[T comparable](first, second []T) (a Agreement) {
	a.Items = min(len(first), len(second))
	if a.Items == 0 {
		return a
	}
	firsts, seconds := map[T]int{}, map[T]int{}
	same := 0
	for i := range a.Items {
		firsts[first[i]]++
		seconds[second[i]]++
		if first[i] == second[i] {
			same++
		}
	}
	// In whole numbers, so that the order of a map plays no part.
	chance := 0
	for rating, n := range firsts {
		chance += n * seconds[rating]
	}
	a.Share = float64(same) / float64(a.Items)
	a.Defined = chance < a.Items*a.Items
	if a.Defined {
		a.Kappa = float64(same*a.Items-chance) / float64(a.Items*a.Items-chance)
	}
	return a
}
