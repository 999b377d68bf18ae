package media_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/bmp"

	"github.com/callnode/scheduler/calls/context/media"
)

// paint is an image with a white left half and a black right half.
func paint(w, h int, alpha uint8) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{A: alpha}
			if x < w/2 {
				c = color.NRGBA{255, 255, 255, alpha}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	return m
}

func encode(t testing.TB, kind string, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch kind {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, nil)
	case "gif":
		err = gif.Encode(&b, m, nil)
	case "bmp":
		err = bmp.Encode(&b, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// webpPixel is a WebP image of one pixel.
const webpPixel = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func TestPrepare(t *testing.T) {
	webp, err := base64.StdEncoding.DecodeString(webpPixel)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		title, name string
		data        []byte
		mime        string
		w, h        int
		same        bool
		doubt       string
	}{
		{"small PNG", "a.png", encode(t, "png", paint(3, 2, 255)), "image/png", 3, 2, true, ""},
		{"content wins over the name", "a.jpg", encode(t, "png", paint(3, 2, 255)), "image/png", 3, 2, true, ""},
		{"no extension", "pic", encode(t, "jpeg", paint(8, 8, 255)), "image/jpeg", 8, 8, true, ""},
		{"GIF", "a.gif", encode(t, "gif", paint(8, 8, 255)), "image/gif", 8, 8, true, ""},
		{"WebP", "a.bin", webp, "image/webp", 1, 1, true, ""},
		{"BMP is converted", "a.bmp", encode(t, "bmp", paint(4, 4, 255)), "image/jpeg", 4, 4, false, ""},
		{"long edge", "a.png", encode(t, "png", paint(1600, 400, 255)), "image/jpeg", 1568, 392, false, ""},
		{"halved twice", "a.png", encode(t, "png", paint(6400, 2, 255)), "image/jpeg", 1568, 1, false, ""},
		{"tall and thin", "a.png", encode(t, "png", paint(1, 4000, 255)), "image/jpeg", 1, 1568, false, ""},
		{"transparent", "a.png", encode(t, "png", paint(3136, 128, 128)), "image/png", 1568, 64, false, ""},
		{"large GIF", "a.gif", encode(t, "gif", paint(1600, 16, 255)), "image/jpeg", 1568, 16, false, ""},
		{"drawing", "a", []byte("<svg/>"), "image/svg+xml", 0, 0, true, "few models"},
	}
	for _, test := range tests {
		t.Run(test.title, func(t *testing.T) {
			m, err := media.Prepare(test.data)
			if err != nil {
				t.Fatal(err)
			}
			if m.MIME != test.mime || m.Width != test.w || m.Height != test.h {
				t.Errorf("got %s %d x %d, want %s %d x %d", m.MIME, m.Width, m.Height, test.mime, test.w, test.h)
			}
			if bytes.Equal(m.Data, test.data) != test.same || (m.Note.En == "") != test.same {
				t.Errorf("untouched: want %v, note %q", test.same, m.Note)
			}
			if !strings.Contains(m.Doubt.En, test.doubt) || test.doubt == "" && m.Doubt.En != "" {
				t.Errorf("doubt %q, want %q", m.Doubt, test.doubt)
			}
			if !test.same {
				checkHalves(t, m)
			}
			if want := "data:" + test.mime + ";base64,"; !strings.HasPrefix(m.URL(), want) {
				t.Errorf("URL %.40q", m.URL())
			}
		})
	}
}

// checkHalves decodes the image that is sent and looks at both halves.
func checkHalves(t *testing.T, m *media.Image) {
	t.Helper()
	got, _, err := image.Decode(bytes.NewReader(m.Data))
	if err != nil {
		t.Fatal(err)
	}
	if got.Bounds().Dx() != m.Width || got.Bounds().Dy() != m.Height {
		t.Fatalf("the bytes are %v", got.Bounds())
	}
	if m.Width < 4 {
		return
	}
	left, _, _, _ := got.At(m.Width/4, m.Height/2).RGBA()
	right, _, _, _ := got.At(m.Width*3/4, m.Height/2).RGBA()
	if left < 0x7000 || right > 0x2000 {
		t.Errorf("left %x, right %x", left, right)
	}
}

func TestRefused(t *testing.T) {
	huge := encode(t, "png", paint(1, 1, 255))
	binary.BigEndian.PutUint32(huge[16:], 60_000)
	binary.BigEndian.PutUint32(huge[20:], 60_000)
	// The checksum of the header is made right by leaving it to JPEG below; PNG
	// says that it is damaged.
	frame := encode(t, "jpeg", paint(8, 8, 255))
	at := bytes.Index(frame, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(frame[at+5:], 60_000)
	binary.BigEndian.PutUint16(frame[at+7:], 60_000)
	zero := encode(t, "gif", paint(8, 8, 255))
	copy(zero[6:], []byte{0, 0, 0, 0})
	whole := encode(t, "png", paint(2000, 20, 255))
	for title, test := range map[string]struct {
		name string
		data []byte
		want string
	}{
		"text":           {"a.txt", []byte("hello"), "not an image"},
		"image by name":  {"a.PNG", []byte("not a png"), "not an image"},
		"empty":          {"a.webp", nil, "not an image"},
		"header":         {"a.png", huge, "damaged"},
		"megapixels":     {"a.jpg", frame, "60000 x 60000 pixels are more than 50 megapixels"},
		"no pixels":      {"a.gif", zero, "no pixels"},
		"cut off":        {"a.png", whole[:len(whole)/2], "damaged"},
		"cut off header": {"a.png", whole[:20], "damaged"},
	} {
		t.Run(title, func(t *testing.T) {
			if m, err := media.Prepare(test.data); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v", m, err)
			}
		})
	}
}

func TestAnimation(t *testing.T) {
	palette := color.Palette{color.White, color.Black}
	g := &gif.GIF{}
	for range 3 {
		g.Image = append(g.Image, image.NewPaletted(image.Rect(0, 0, 1600, 10), palette))
		g.Delay = append(g.Delay, 10)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	m, err := media.Prepare(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if m.Doubt.En == "" || m.MIME != "image/jpeg" {
		t.Errorf("got %s, doubt %q", m.MIME, m.Doubt)
	}
}

// withExif puts an EXIF orientation into a JPEG.
func withExif(jpg []byte, orientation uint16, order binary.AppendByteOrder) []byte {
	tiff := []byte("II*\x00")
	if order.String() == binary.BigEndian.String() {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, entry := range [][2]uint16{{0x0100, 7}, {0x0112, orientation}} {
		tiff = order.AppendUint16(tiff, entry[0])
		tiff = order.AppendUint16(tiff, 3)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, entry[1])
		tiff = order.AppendUint16(tiff, 0)
	}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	head := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(segment)+2))
	return slices.Concat(head, segment, jpg[2:])
}

func TestOrientation(t *testing.T) {
	// The mark is a white block at the upper left of a wide black image.
	m := image.NewGray(image.Rect(0, 0, 1600, 80))
	for y := range 40 {
		for x := range 40 {
			m.SetGray(x, y, color.Gray{255})
		}
	}
	plain := encode(t, "jpeg", m)
	corner := map[uint16]string{1: "upper left", 2: "upper right", 3: "lower right", 4: "lower left", 5: "upper left", 6: "upper right", 7: "lower right", 8: "lower left", 9: "upper left"}
	for orientation, want := range corner {
		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			got, err := media.Prepare(withExif(plain, orientation, order))
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := jpeg.Decode(bytes.NewReader(got.Data))
			if err != nil {
				t.Fatal(err)
			}
			if upright := got.Width < got.Height; upright != (orientation >= 5 && orientation <= 8) {
				t.Errorf("orientation %d: %d x %d", orientation, got.Width, got.Height)
			}
			for name, at := range map[string]image.Point{"upper left": {15, 15}, "upper right": {got.Width - 15, 15},
				"lower left": {15, got.Height - 15}, "lower right": {got.Width - 15, got.Height - 15}} {
				if v, _, _, _ := decoded.At(at.X, at.Y).RGBA(); v > 0x8000 != (name == want) {
					t.Errorf("orientation %d: brightness %x at the %s", orientation, v, name)
				}
			}
		}
	}
}

func FuzzPrepare(f *testing.F) {
	for _, kind := range []string{"png", "jpeg", "gif", "bmp"} {
		data := encode(f, kind, paint(5, 3, 255))
		f.Add("a."+kind, data)
		f.Add("a.txt", data[:len(data)/2])
	}
	f.Add("a.jpg", withExif(encode(f, "jpeg", paint(5, 3, 255)), 6, binary.BigEndian))
	webp, _ := base64.StdEncoding.DecodeString(webpPixel)
	f.Add("a", webp)
	f.Add("a.gif", encode(f, "gif", paint(1600, 1, 255)))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if config, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && config.Width*config.Height > 1_000_000 {
			t.Skip("allowed, but slow to fuzz")
		}
		m, err := media.Prepare(data)
		if err != nil {
			return
		}
		if max(m.Width, m.Height) > media.MaxEdge || !strings.HasPrefix(m.MIME, "image/") || len(m.Data) > max(len(data), 1<<23) {
			t.Errorf("%s %d x %d, %d bytes", m.MIME, m.Width, m.Height, len(m.Data))
		}
	})
}
