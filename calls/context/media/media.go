// Package media prepares image files for a chat message: it detects their type by content, bounds their size
// before it decodes them, shrinks images that are larger than models look at, and estimates their tokens. For
// example, a photo of 4000 by 3000 pixels is sent with 1568 by 1176.
package media

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits on files that are read and sent.
const (
	// MaxFile is the largest file that is looked at, in bytes.
	MaxFile = 32 << 20
	// MaxPixels is the largest image that is decoded: a photo of 50 megapixels.
	MaxPixels = 50_000_000
	// MaxEdge is the longest edge that is sent; vendors scale larger images down.
	MaxEdge = 1568
	// MaxSent is the largest file that is sent untouched. As base64 it is the 5 MB
	// that vendors take.
	MaxSent = 5_000_000 / 4 * 3
	quality = 85
)

// Image is an image as it is sent. [Prepare] creates it; it does not change.
type Image struct {
	MIME string
	Data []byte
	// Width and Height are in pixels; 0 if they are unknown.
	Width, Height int
	// Note says how the file was changed; "" if it is sent as it is.
	Note wording.Text
	// Doubt is why a vendor may refuse the image; empty for no doubt.
	Doubt wording.Text
}

// URL returns the image as a data URL.
func (m *Image) URL() string {
	return "data:" + m.MIME + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
}

// format is an image format that is decoded here.
type format struct {
	mime   string
	config func([]byte) (image.Config, error)
	decode func([]byte) (image.Image, error)
	// sent is true for formats that vendors take as they are.
	sent bool
}

func withReader[T any](f func(r *bytes.Reader) (T, error)) func([]byte) (T, error) {
	return func(data []byte) (T, error) { return f(bytes.NewReader(data)) }
}

// sniffFormat detects the format by the first bytes.
func sniffFormat(data []byte) (format, bool) {
	has := func(at int, magic string) bool {
		return len(data) >= at+len(magic) && string(data[at:at+len(magic)]) == magic
	}
	switch {
	case has(0, "\x89PNG\r\n\x1a\n"):
		return format{"image/png",
			withReader(func(r *bytes.Reader) (image.Config, error) { return png.DecodeConfig(r) }),
			withReader(func(r *bytes.Reader) (image.Image, error) { return png.Decode(r) }), true}, true
	case has(0, "\xff\xd8\xff"):
		return format{"image/jpeg",
			withReader(func(r *bytes.Reader) (image.Config, error) { return jpeg.DecodeConfig(r) }),
			withReader(func(r *bytes.Reader) (image.Image, error) { return jpeg.Decode(r) }), true}, true
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return format{"image/gif",
			withReader(func(r *bytes.Reader) (image.Config, error) { return gif.DecodeConfig(r) }),
			withReader(func(r *bytes.Reader) (image.Image, error) { return gif.Decode(r) }), true}, true
	case has(0, "RIFF") && has(8, "WEBP"):
		return format{"image/webp",
			withReader(func(r *bytes.Reader) (image.Config, error) { return webp.DecodeConfig(r) }),
			withReader(func(r *bytes.Reader) (image.Image, error) { return webp.Decode(r) }), true}, true
	case has(0, "BM") && has(6, "\x00\x00\x00\x00"):
		return format{"image/bmp",
			withReader(func(r *bytes.Reader) (image.Config, error) { return bmp.DecodeConfig(r) }),
			withReader(func(r *bytes.Reader) (image.Image, error) { return bmp.Decode(r) }), false}, true
	}
	return format{}, false
}

// isSVG reports whether the content begins as an SVG document does.
func isSVG(data []byte) bool {
	head := data[:min(len(data), 1000)]
	if bytes.HasPrefix(head, []byte("<?xml")) {
		return bytes.Contains(head, []byte("<svg"))
	}
	return bytes.HasPrefix(head, []byte("<svg"))
}

// Prepare makes an image from a file's content. An image within the limits is sent byte for byte. One that is
// larger than [MaxEdge] or [MaxSent], or a BMP, which vendors do not accept, is scaled down and encoded again, as
// JPEG if it is opaque and as PNG otherwise. The error says why the file cannot be used: it is not an image by its
// bytes, or damaged.
func Prepare(data []byte) (*Image, error) {
	f, known := sniffFormat(data)
	if !known && isSVG(data) && len(data) <= MaxSent {
		return &Image{MIME: "image/svg+xml", Data: data, Doubt: wording.Say("a vector image is sent as it is, which few models take")}, nil
	}
	if !known {
		return nil, wording.Errorf("its content is not an image (PNG, JPEG, GIF, WebP, BMP or SVG)")
	}
	config, err := recoverPanic(func() (image.Config, error) { return f.config(data) })
	if err != nil {
		return nil, wording.Errorf("the %s file is damaged: %w", f.mime, err)
	}
	if config.Width <= 0 || config.Height <= 0 {
		return nil, wording.Errorf("the %s file is damaged: it has no pixels", f.mime)
	}
	if pixels := int64(config.Width) * int64(config.Height); pixels > MaxPixels {
		return nil, wording.Errorf("%d x %d pixels are more than %d megapixels", config.Width, config.Height, MaxPixels/1_000_000)
	}
	if f.sent && max(config.Width, config.Height) <= MaxEdge && len(data) <= MaxSent {
		return &Image{MIME: f.mime, Data: data, Width: config.Width, Height: config.Height}, nil
	}
	decoded, err := recoverPanic(func() (image.Image, error) { return f.decode(data) })
	if err != nil {
		return nil, wording.Errorf("the %s file is damaged: %w", f.mime, err)
	}
	m, err := encodeImage(applyOrientation(shrinkToEdge(decoded, MaxEdge), readOrientation(f.mime, data)))
	if err != nil {
		return nil, err
	}
	m.Note = wording.Say("%s %d x %d, sent as %s %d x %d", f.mime, config.Width, config.Height, m.MIME, m.Width, m.Height)
	if f.mime == "image/gif" {
		if countFrames(data) > 1 {
			m.Doubt = wording.Say("only the first frame of the animation is sent, because the file is large")
		}
	}
	return m, nil
}

// countFrames counts the frames of a GIF; 1 if it cannot find out.
func countFrames(data []byte) int {
	const extension, separator = 0x21, 0x2c
	if len(data) < 13 {
		return 1
	}
	at := 13
	if data[10]&0x80 != 0 {
		at += 3 << (data[10]&7 + 1)
	}
	n := 0
	for at < len(data) {
		switch data[at] {
		case extension:
			at += 2
		case separator:
			n++
			if at+9 >= len(data) {
				return max(n, 1)
			}
			packed := data[at+9]
			at += 10
			if packed&0x80 != 0 {
				at += 3 << (packed&7 + 1)
			}
			at++ // code size
		default:
			return max(n, 1)
		}
		for at < len(data) && data[at] != 0 { // sub-blocks
			at += int(data[at]) + 1
		}
		at++
	}
	return max(n, 1)
}

// recoverPanic makes an error of a panic: decoders have panicked on hostile files
// before, and one bad file must not cost the prompt.
func recoverPanic[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = wording.Errorf("decoding failed: %v", p)
		}
	}()
	return f()
}

func encodeImage(img *image.RGBA) (*Image, error) {
	var b bytes.Buffer
	m := &Image{MIME: "image/jpeg", Width: img.Bounds().Dx(), Height: img.Bounds().Dy()}
	var err error
	if img.Opaque() {
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: quality})
	} else {
		m.MIME = "image/png"
		err = png.Encode(&b, img)
	}
	m.Data = b.Bytes()
	return m, err
}
