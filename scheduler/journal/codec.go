package journal

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
)

// An event is stored as its JSON, in which what is big or an image has been
// replaced by a reference to a blob, and a blob may hold references in turn:
//
//	{"$blob": DIGEST}                          a value of at least bigPayload bytes,
//	                                           or one that is nested maxHeight deep
//	{"$media": [TEXT, REFERENCE, TEXT ...]}    a string with data: URLs in it, or
//	                                           the base64 text of an image
//
// where the REFERENCE stands for the base64 text of one image. An object of the
// user's that looks like one of these gets one more $ before its key.
const (
	blobKey  = "$blob"
	mediaKey = "$media"
	// bigPayload is the size of JSON from which on a value is stored apart. Steps
	// hand the same messages on and on: those are then stored once.
	bigPayload = 4 << 10
	// maxHeight is how deep what is stored in one piece may be nested: what can be
	// nested as deep as JSON may be is wrapped into events, and has to be read again.
	maxHeight = 200
	// refSize is about what a reference takes.
	refSize = 80
)

// digest is the SHA-256 of a blob.
type digest [sha256.Size]byte

func (d digest) String() string { return hex.EncodeToString(d[:]) }

func parseDigest(text string) (d digest, ok bool) {
	if len(text) != 2*len(d) {
		return d, false
	}
	_, err := hex.Decode(d[:], []byte(text))
	return d, err == nil
}

// secret is the digest under which a payload is stored that nobody may read in the
// database. It is another one, so that the same bytes may be both.
func (d digest) secret() digest { return sha256.Sum256(append([]byte("secret "), d[:]...)) }

// payload is what stands apart.
type payload struct {
	data []byte
	// secret says that it must not be readable where it is kept.
	secret bool
}

// blobs are payloads by the digests under which they are stored.
type blobs map[digest]payload

func (b blobs) add(data []byte) digest {
	d := digest(sha256.Sum256(data))
	b[d] = payload{data, false}
	return d
}

// addSecret gives the digest of the data itself.
func (b blobs) addSecret(data []byte) digest {
	d := digest(sha256.Sum256(data))
	b[d.secret()] = payload{data, true}
	return d
}

// get finds the payload that was added as one of this digest.
func (b blobs) get(d digest, secret bool) ([]byte, error) {
	at := d
	if secret {
		at = d.secret()
	}
	if one, ok := b[at]; ok {
		return one.data, nil
	}
	return nil, noBlobError(d)
}

// encode gives the stored form of a value; its payloads are added to b.
func (b blobs) encode(v value.Value) []byte {
	if v.Kind() == value.Object {
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			packed, _, _ := b.pack(member)
			m.Set(k, packed)
		}
		return value.OfMap(escapeRef(m)).AppendJSON(nil)
	}
	packed, _, _ := b.pack(v)
	return packed.AppendJSON(nil)
}

// encodeEvent gives the stored form of an event.
func (b blobs) encodeEvent(ev *scheduler.Event) ([]byte, error) {
	v, err := value.Of(ev)
	if err != nil {
		return nil, fmt.Errorf("encoding event %d: %w", ev.Seq, err)
	}
	return b.encode(v), nil
}

// pack replaces what is big in a value, from the leaves up, and says how big the
// rest is, about, and how deep it is nested. The same value always gives the same
// references.
func (b blobs) pack(v value.Value) (packed value.Value, size, height int) {
	switch v.Kind() {
	case value.String:
		s, _ := v.Str()
		if v, size = b.packText(s); size < bigPayload {
			return v, size, textHeight
		}
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			packed, n, below := b.pack(item)
			items[i] = packed
			size, height = size+n+1, max(height, below)
		}
		v = value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			packed, n, below := b.pack(member)
			m.Set(k, packed)
			size, height = size+n+len(k)+4, max(height, below)
		}
		v = value.OfMap(escapeRef(m))
	default:
		return v, 8, 0
	}
	if height++; size < bigPayload && height < maxHeight {
		return v, size, height
	}
	d := b.add(v.AppendJSON(nil))
	return value.OfMap(value.Pairs(blobKey, d.String())), refSize, textHeight
}

// textHeight is how deep the reference for an image is nested.
const textHeight = 3

// packText takes the images out of a string.
func (b blobs) packText(s string) (packed value.Value, size int) {
	if isImage(s) {
		return value.OfMap(value.Pairs(mediaKey, []any{"", b.packMedia(s), ""})), refSize
	}
	var parts []value.Value
	rest := s
	for {
		start, end := findMedia(rest)
		if end == 0 {
			break
		}
		parts = append(parts, value.OfString(rest[:start]), b.packMedia(rest[start:end]))
		size += start + refSize
		rest = rest[end:]
	}
	size += len(rest)
	if parts == nil {
		return value.OfString(s), size
	}
	parts = append(parts, value.OfString(rest))
	return value.OfMap(value.Pairs(mediaKey, value.OfList(parts...))), size
}

// packMedia stores the bytes that the base64 text of an image stands for. Text
// that would not come back the same is stored as it is.
func (b blobs) packMedia(text string) value.Value {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	ref := value.NewMap(3)
	if err != nil || base64.StdEncoding.EncodeToString(data) != text {
		data = []byte(text)
		ref.Set("as_is", value.OfBool(true))
	}
	ref.Set("sha256", value.OfString(b.addSecret(data).String()))
	ref.Set("size", value.OfInt(int64(len(data))))
	return value.OfMap(ref)
}

// escapeRef tells an object that only looks like a reference from one.
func escapeRef(m *value.Map) *value.Map {
	if m.Len() != 1 {
		return m
	}
	k, v := m.Entry(0)
	if bare := strings.TrimLeft(k, "$"); len(bare) < len(k) && (bare == blobKey[1:] || bare == mediaKey[1:]) {
		return value.Pairs("$"+k, v)
	}
	return m
}

// decoder turns stored forms into values again.
type decoder struct {
	// get reads the payload that was stored as one of this digest.
	get func(d digest, secret bool) ([]byte, error)
	// clear puts the bytes of images in place; otherwise their digests are shown.
	clear bool

	seen     map[digest]value.Value
	seenSize int
}

// maxSeen bounds the payloads that a decoder keeps because they come again.
const maxSeen = 32 << 20

func (d *decoder) decode(stored []byte) (value.Value, error) {
	v, err := value.ParseJSON(stored)
	if err != nil {
		return v, err
	}
	return d.unpack(v)
}

func (d *decoder) decodeEvent(stored []byte) (*scheduler.Event, error) {
	v, err := d.decode(stored)
	if err != nil {
		return nil, err
	}
	ev := &scheduler.Event{}
	return ev, value.Decode(v, ev)
}

func (d *decoder) unpack(v value.Value) (value.Value, error) {
	switch v.Kind() {
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			var err error
			if items[i], err = d.unpack(item); err != nil {
				return v, err
			}
		}
		return value.OfList(items...), nil
	case value.Object:
		return d.unpackObject(v.Map())
	}
	return v, nil
}

func (d *decoder) unpackObject(m *value.Map) (value.Value, error) {
	if m.Len() == 1 {
		switch k, ref := m.Entry(0); {
		case k == blobKey:
			return d.blob(ref)
		case k == mediaKey:
			return d.media(ref.List())
		case strings.HasPrefix(k, "$$"):
			if bare := strings.TrimLeft(k, "$"); bare == blobKey[1:] || bare == mediaKey[1:] {
				m = value.Pairs(k[1:], ref)
			}
		}
	}
	full := value.NewMap(m.Len())
	for k, member := range m.All() {
		v, err := d.unpack(member)
		if err != nil {
			return v, err
		}
		full.Set(k, v)
	}
	return value.OfMap(full), nil
}

// load reads a blob and makes sure that it is what was stored.
func (d *decoder) load(sum digest, secret bool) ([]byte, error) {
	data, err := d.get(sum, secret)
	if err == nil && sha256.Sum256(data) != sum {
		return nil, fmt.Errorf("the payload %s is not what was stored: the journal is damaged", sum)
	}
	return data, err
}

// blob reads the value that a reference stands for.
func (d *decoder) blob(ref value.Value) (value.Value, error) {
	text, _ := ref.Str()
	sum, ok := parseDigest(text)
	if !ok {
		return value.Value{}, fmt.Errorf("%.80s is no reference to a payload", ref)
	}
	if v, ok := d.seen[sum]; ok {
		return v, nil
	}
	stored, err := d.load(sum, false)
	if err != nil {
		return value.Value{}, err
	}
	v, err := d.decode(stored)
	if err != nil {
		return v, err
	}
	if d.seenSize += len(stored); d.seen == nil || d.seenSize > maxSeen {
		d.seen, d.seenSize = map[digest]value.Value{}, len(stored)
	}
	d.seen[sum] = v
	return v, nil
}

// media puts a string with images together.
func (d *decoder) media(parts []value.Value) (value.Value, error) {
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 0 {
			text, _ := part.Str()
			if i+1 < len(parts) && !d.clear {
				text = shown(text)
			}
			b.WriteString(text)
			continue
		}
		if err := d.medium(&b, part); err != nil {
			return value.Value{}, err
		}
	}
	return value.OfString(b.String()), nil
}

// shown is the text before an image that is not shown: without the mark of base64
// text.
func shown(before string) string {
	if before == "" {
		return "image"
	}
	return before[:max(0, len(before)-len(base64Mark))]
}

// medium writes the text of one image, or what is shown instead.
func (d *decoder) medium(b *strings.Builder, ref value.Value) error {
	hexes, _ := ref.Get("sha256")
	text, _ := hexes.Str()
	sum, ok := parseDigest(text)
	if !ok {
		return fmt.Errorf("%.80s is no reference to an image", ref)
	}
	if !d.clear {
		size, _ := ref.Get("size")
		fmt.Fprintf(b, ";sha256=%s;size=%s", sum, size)
		return nil
	}
	data, err := d.load(sum, true)
	if err != nil {
		return err
	}
	if _, asIs := ref.Get("as_is"); asIs {
		b.Write(data)
	} else {
		b.WriteString(base64.StdEncoding.EncodeToString(data))
	}
	return nil
}

const base64Mark = ";base64,"

// isImage says whether s is nothing but the base64 text of an image: what APIs
// answer, and what some take, in the place of a data: URL.
func isImage(s string) bool {
	const least = 64
	if len(s) < least || base64Len(s) != len(s) {
		return false
	}
	// "?" is any letter: the first bytes of PNG, JPEG, GIF, WebP, TIFF, and of HEIC and
	// AVIF, which begin with the length of a box of the type ftyp.
	for _, start := range []string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "SUkqA", "TU0AK", "AAAA??Z0eX"} {
		match := true
		for i := range start {
			match = match && (start[i] == '?' || start[i] == s[i])
		}
		if match {
			return true
		}
	}
	return false
}

// findMedia finds the base64 text of the first data: URL in s; end is 0 where
// there is none.
func findMedia(s string) (start, end int) {
	for from := 0; ; {
		at := strings.Index(s[from:], "64,") // the same in upper and lower case
		if at < 0 {
			return 0, 0
		}
		start = from + at + len("64,")
		from = start
		mark := start - len(base64Mark)
		if mark < 0 || !strings.EqualFold(s[mark:start], base64Mark) || !endsInMediaType(s[:mark]) {
			continue
		}
		if end = start + base64Len(s[start:]); end > start {
			return start, end
		}
	}
}

// endsInMediaType says whether s ends in data:TYPE with its parameters.
func endsInMediaType(s string) bool {
	s = s[max(0, len(s)-256):]
	for i := len(s) - 1; i >= 0; i-- {
		switch c := s[i]; {
		case c <= ' ' || c == ',' || c == '(' || c == '<':
			return false
		case c == ':' && i >= 4 && strings.EqualFold(s[i-4:i], "data"):
			return true
		}
	}
	return false
}

// base64Len is how much of the beginning of s is base64 text: of either alphabet,
// with slashes that JSON has escaped, broken into long lines or not.
func base64Len(s string) int {
	const longLine = 40
	run := func(s string) (n int) {
		for ; n < len(s); n++ {
			c := s[n]
			switch {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			case c == '+', c == '/', c == '=', c == '-', c == '_', c == '%':
			case c == '\\' && n+1 < len(s) && s[n+1] == '/':
			default:
				return n
			}
		}
		return n
	}
	n := run(s)
	for n < len(s) {
		next := s[n:]
		line := strings.TrimLeft(next, "\r\n")
		more := run(line)
		if len(line) == len(next) || more < longLine {
			break
		}
		n += len(next) - len(line) + more
	}
	return n
}
