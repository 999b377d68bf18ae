package sqlite

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
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
func (b blobs) encodeEvent(ev *journal.Event) ([]byte, error) {
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
