package tokens

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"strings"
)

// CountImage estimates the tokens of an image by its size, which is read from the head of a data URL; any other
// image is taken to be of 1024 x 1024 pixels.
func (s scaled) CountImage(url, detail string) int {
	width, height := dataURLSize(url)
	if detail == "low" {
		width, height = min(width, lowDetail), min(height, lowDetail)
	}
	return Image(s.model, width, height)
}

const (
	// unknownSize is the side of an image of unknown size.
	unknownSize = 1024
	// lowDetail is the side that images of low detail are scaled to.
	lowDetail = 512
)

// dataURLSize reads the size of an image from the head of its data URL, without
// decoding the picture.
func dataURLSize(url string) (width, height int) {
	_, encoded, ok := strings.Cut(url, ";base64,")
	if !ok || !strings.HasPrefix(url, "data:") {
		return unknownSize, unknownSize
	}
	for _, decode := range []func(io.Reader) (image.Config, error){png.DecodeConfig, jpeg.DecodeConfig, gif.DecodeConfig} {
		config, err := decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded)))
		if err == nil {
			return config.Width, config.Height
		}
	}
	if width, height, ok := webpSize(encoded); ok {
		return width, height
	}
	return unknownSize, unknownSize
}

// webpSize reads the three kinds of WebP headers: the standard library has no
// decoder for them.
func webpSize(encoded string) (width, height int, ok bool) {
	head, err := base64.StdEncoding.DecodeString(encoded[:min(len(encoded), 40)])
	isWebP := len(head) >= 30 && bytes.HasPrefix(head, []byte("RIFF")) && string(head[8:12]) == "WEBP"
	if err != nil || !isWebP {
		return 0, 0, false
	}
	at := func(i int) int { return int(head[i]) }
	switch string(head[12:16]) {
	case "VP8 ":
		return (at(26) | at(27)<<8) & 0x3fff, (at(28) | at(29)<<8) & 0x3fff, true
	case "VP8L":
		bits := at(21) | at(22)<<8 | at(23)<<16 | at(24)<<24
		return bits&0x3fff + 1, bits>>14&0x3fff + 1, true
	case "VP8X":
		return (at(24) | at(25)<<8 | at(26)<<16) + 1, (at(27) | at(28)<<8 | at(29)<<16) + 1, true
	}
	return 0, 0, false
}

// imageCosts is how families of models count images, by the prefix of the
// model's name; the longest that fits counts.
var imageCosts = []struct {
	prefix string
	cost   func(width, height float64) float64
}{
	{"", tileCost(85, 170)}, // the dearest of the usual ways
	{"gpt-4o-mini", tileCost(2833, 5667)},
	{"gpt-5", tileCost(70, 140)},
	{"o1", tileCost(75, 150)}, {"o3", tileCost(75, 150)},
	{"gpt-4.1-mini", patchCost(1.62)}, {"gpt-4.1-nano", patchCost(2.46)}, {"o4-mini", patchCost(1.72)},
	{"gpt-5-mini", patchCost(1.62)}, {"gpt-5-nano", patchCost(2.46)},
	{"claude", claudeCost},
	{"gemini", geminiCost},
}

// Image estimates the tokens of an image of that size in pixels for a model. Vendors change how they count: it is
// for budgets, not for bills.
func Image(model string, width, height int) int {
	name, best := baseName(model), 0
	for i, c := range imageCosts {
		if strings.HasPrefix(name, c.prefix) && len(c.prefix) >= len(imageCosts[best].prefix) {
			best = i
		}
	}
	w, h := float64(max(width, 1)), float64(max(height, 1))
	return int(math.Ceil(imageCosts[best].cost(w, h)))
}

// scaleToFit scales a size down until its sides are within long and short.
func scaleToFit(w, h, long, short float64) (float64, float64) {
	scale := min(1, long/max(w, h), short/min(w, h))
	return w * scale, h * scale
}

// tileCost is OpenAI's way: a base, and a price for each tile of 512 pixels after
// the image was scaled into 2048 x 2048 with a short side of 768.
func tileCost(base, each float64) func(w, h float64) float64 {
	return func(w, h float64) float64 {
		if w <= lowDetail && h <= lowDetail {
			return base + each
		}
		w, h = scaleToFit(w, h, 2048, math.Inf(1))
		w, h = scaleToFit(w, h, math.Inf(1), 768)
		return base + each*math.Ceil(w/512)*math.Ceil(h/512)
	}
}

// patchCost is OpenAI's way for small models: patches of 32 pixels, at most 1536,
// times a factor.
func patchCost(factor float64) func(w, h float64) float64 {
	return func(w, h float64) float64 {
		return factor * min(1536, math.Ceil(w/32)*math.Ceil(h/32))
	}
}

// claudeCost counts the pixels after the long side was scaled to 1568.
func claudeCost(w, h float64) float64 {
	w, h = scaleToFit(w, h, 1568, math.Inf(1))
	return min(1600, w*h/750)
}

// geminiCost counts tiles of 768 pixels; a small image is one.
func geminiCost(w, h float64) float64 {
	if w <= 384 && h <= 384 {
		return 258
	}
	return 258 * math.Ceil(w/768) * math.Ceil(h/768)
}
