package media

import (
	"math"
	"strings"
)

// Unknown is the estimate for an image whose size nobody knows.
const Unknown = 1600

// Tokens estimates what an image costs with a model, by the rules that vendors
// publish. Models are told by how their names begin, a vendor's prefix with a
// slash left out; others are estimated by area, width x height / 750, at most
// 1600.
func Tokens(model string, width, height int) int {
	if width <= 0 || height <= 0 {
		return Unknown
	}
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, rule := range rules() {
		if strings.HasPrefix(model, rule.prefix) {
			return rule.count(float64(width), float64(height))
		}
	}
	return byArea(float64(width), float64(height))
}

type rule struct {
	prefix string
	count  func(w, h float64) int
}

// rules are tried in order: longer prefixes of a family come first.
func rules() []rule {
	return []rule{
		{"gpt-5-mini", patches(1.62)},
		{"gpt-5-nano", patches(2.46)},
		{"gpt-4.1-mini", patches(1.62)},
		{"gpt-4.1-nano", patches(2.46)},
		{"o4-mini", patches(1.72)},
		{"gpt-5", tiles(70, 140)},
		{"gpt-4o-mini", tiles(2833, 5667)},
		{"gpt-4", tiles(85, 170)},
		{"o1", tiles(75, 150)},
		{"o3", tiles(75, 150)},
		{"gemini", geminiTiles},
	}
}

func byArea(w, h float64) int { return min(int(math.Ceil(w*h/750)), Unknown) }

// tiles counts squares of 512 after fitting the image into 2048 x 2048 and its
// shorter side to 768.
func tiles(base, each int) func(w, h float64) int {
	return func(w, h float64) int {
		f := min(1, 2048/max(w, h))
		f *= min(1, 768/(f*min(w, h)))
		return base + each*int(math.Ceil(f*w/512)*math.Ceil(f*h/512))
	}
}

// patches counts squares of 32, at most 1536, times the model's factor.
func patches(factor float64) func(w, h float64) int {
	return func(w, h float64) int {
		n := math.Min(math.Ceil(w/32)*math.Ceil(h/32), 1536)
		return int(math.Ceil(n * factor))
	}
}

// geminiTiles counts 258 for a small image and for each tile of 768 of a larger
// one.
func geminiTiles(w, h float64) int {
	if w <= 384 && h <= 384 {
		return 258
	}
	return 258 * int(math.Ceil(w/768)*math.Ceil(h/768))
}
