// Package stored has the parts that the backends of a journal share: the stored form of events (Blobs writes it,
// Decoder reads it), the encryption of images (Vault), the state of a log that is held (LogState), and who holds
// it (Process). For example, a text of 100 KB is stored as a reference, and its bytes only once.
package stored

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// An event is stored as its JSON, in which each big value and each image has been replaced by a reference to a
// blob, and a blob may hold references in turn:
//
//	{"$blob": DIGEST}                          a value of at least bigPayload bytes,
//	                                           or one that is nested maxHeight deep
//	{"$media": [TEXT, REFERENCE, TEXT ...]}    a string with data: URLs in it, or
//	                                           the base64 text of an image
//
// in which the REFERENCE replaces the base64 text of one image. An object of the user's that looks like one of
// these gets one more $ before its key.
const (
	blobKey  = "$blob"
	mediaKey = "$media"
	// bigPayload is the size of JSON from which on a value is stored apart. Steps pass the same messages on and on:
	// these are then stored once.
	bigPayload = 4 << 10
	// maxHeight is the greatest depth of a value stored in one piece: a value as deep as JSON allows becomes deeper
	// when an event wraps it, and must still be readable.
	maxHeight = 200
	// refSize is roughly the size of a reference.
	refSize = 80
)

// Digest is the SHA-256 of a payload.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads a digest in hex.
func ParseDigest(text string) (d Digest, ok bool) {
	if len(text) != 2*len(d) {
		return d, false
	}
	_, err := hex.Decode(d[:], []byte(text))
	return d, err == nil
}

// Secret returns the digest under which a payload is stored that must not be readable in the
// database. It is another one, so that the same bytes may be both.
func (d Digest) Secret() Digest { return sha256.Sum256(append([]byte("secret "), d[:]...)) }

// Payload is a value that is stored apart from its event.
type Payload struct {
	Data []byte
	// Secret means that it must not be readable in the store.
	Secret bool
}

// Blobs are payloads by the digests under which they are stored.
type Blobs map[Digest]Payload

// Add adds a payload and returns its digest.
func (b Blobs) Add(data []byte) Digest {
	d := Digest(sha256.Sum256(data))
	b[d] = Payload{data, false}
	return d
}

// AddSecret adds a payload that must not be readable in the store, and returns the digest of the data itself.
func (b Blobs) AddSecret(data []byte) Digest {
	d := Digest(sha256.Sum256(data))
	b[d.Secret()] = Payload{data, true}
	return d
}

// Get returns the payload that was added as one of this digest.
func (b Blobs) Get(d Digest, secret bool) ([]byte, error) {
	at := d
	if secret {
		at = d.Secret()
	}
	if one, ok := b[at]; ok {
		return one.Data, nil
	}
	return nil, MissingPayloadError(d)
}

// Encode returns the stored form of a value; its payloads are added to b.
func (b Blobs) Encode(v value.Value) []byte {
	if v.Kind() == value.Object {
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			packed, _, _ := b.packValue(member)
			m.Set(k, packed)
		}
		return value.OfMap(escapeRef(m)).AppendJSON(nil)
	}
	packed, _, _ := b.packValue(v)
	return packed.AppendJSON(nil)
}

// EncodeConversation returns the stored form of the messages before the question; nil for none.
func (b Blobs) EncodeConversation(messages value.Value) []byte {
	if len(messages.List()) == 0 {
		return nil
	}
	return b.Encode(messages)
}

// EncodeEvent returns the stored form of an event.
func (b Blobs) EncodeEvent(ev *journal.Event) ([]byte, error) {
	v, err := value.Of(ev)
	if err != nil {
		return nil, wording.Errorf("encoding event %d: %w", ev.Seq, err)
	}
	return b.Encode(v), nil
}

// packValue replaces the big parts of a value, from the leaves up, and returns the approximate size of the rest
// and its depth. The same value always gives the same references.
func (b Blobs) packValue(v value.Value) (packed value.Value, size, height int) {
	switch v.Kind() {
	case value.String:
		s, _ := v.Str()
		v, size = b.packText(s)
		if size < bigPayload {
			return v, size, textHeight
		}
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			packed, n, below := b.packValue(item)
			items[i] = packed
			size, height = size+n+1, max(height, below)
		}
		v = value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for k, member := range v.Map().All() {
			packed, n, below := b.packValue(member)
			m.Set(k, packed)
			size, height = size+n+len(k)+4, max(height, below)
		}
		v = value.OfMap(escapeRef(m))
	default:
		return v, 8, 0
	}
	height++
	if size < bigPayload && height < maxHeight {
		return v, size, height
	}
	d := b.Add(v.AppendJSON(nil))
	return value.OfMap(value.Pairs(blobKey, d.String())), refSize, textHeight
}

// textHeight is how deep the reference for an image is nested.
const textHeight = 3

// packText takes the images out of a string.
func (b Blobs) packText(s string) (packed value.Value, size int) {
	if isImage(s) {
		return value.OfMap(value.Pairs(mediaKey, []any{"", b.packMedia(s), ""})), refSize
	}
	var parts []value.Value
	rest := s
	for {
		start, end := FindMedia(rest)
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

// packMedia stores the bytes of the base64 text of an image. Text that would not come back the same is stored
// unchanged.
func (b Blobs) packMedia(text string) value.Value {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	ref := value.NewMap(3)
	if err != nil || base64.StdEncoding.EncodeToString(data) != text {
		data = []byte(text)
		ref.Set("as_is", value.OfBool(true))
	}
	ref.Set("sha256", value.OfString(b.AddSecret(data).String()))
	ref.Set("size", value.OfInt(int64(len(data))))
	return value.OfMap(ref)
}

// escapeRef marks an object that only looks like a reference. For example, {"$blob": 1} becomes {"$$blob": 1}.
func escapeRef(m *value.Map) *value.Map {
	if m.Len() != 1 {
		return m
	}
	k, v := m.Entry(0)
	bare := strings.TrimLeft(k, "$")
	isKey := bare == blobKey[1:] || bare == mediaKey[1:]
	if isKey && len(bare) < len(k) {
		return value.Pairs("$"+k, v)
	}
	return m
}

// EncodeText adds the text of a flow and of its files, and returns the digest of the source and the JSON object of
// the files' digests by path. The other parts of an edited text are there under the path "", which no file has.
func (b Blobs) EncodeText(text journal.FlowText) (source Digest, files []byte) {
	return b.addFile(text.Source), b.encodeFiles(text).AppendJSON(nil)
}

func (b Blobs) encodeFiles(text journal.FlowText) value.Value {
	if text.Files == nil && text.Before == nil {
		return value.Value{}
	}
	refs := value.NewMap(len(text.Files) + 1)
	for path, content := range text.Files {
		refs.Set(path, value.OfString(b.addFile(content).String()))
	}
	if before := text.Before; before != nil {
		refs.Set(editedKey, value.OfMap(value.Pairs(
			"file", text.File, "since", text.Since,
			"source", b.addFile(before.Source).String(), "files", b.encodeFiles(*before),
		)))
	}
	return value.OfMap(refs)
}

// editedKey is the path, beside the files, of the other parts of an edited text.
const editedKey = ""

func (b Blobs) addFile(content []byte) Digest {
	if _, end := FindMedia(string(content)); end > 0 {
		return b.AddSecret(content)
	}
	return b.Add(content)
}

// MissingPayloadError is the error of a payload that is not in the journal.
type MissingPayloadError Digest

// Error names the payload.
func (d MissingPayloadError) Error() string { return d.In("en") }

// In names the payload, in a language.
func (d MissingPayloadError) In(language string) string {
	return wording.Say("the payload %s is missing: the journal is damaged", Digest(d)).In(language)
}

// EncodeSummary returns the stored form of a summary.
func EncodeSummary(s journal.Summary) []byte { return value.Must(s).AppendJSON(nil) }

// ChangedSummary returns the stored form of a summary that has changed; nil for one that has not.
func ChangedSummary(before, after journal.Summary) []byte {
	if before == after {
		return nil
	}
	return EncodeSummary(after)
}

// DecodeSummary reads it; runs of older programs have none.
func DecodeSummary(form []byte) (s journal.Summary, err error) {
	if len(form) > 0 {
		err = json.Unmarshal(form, &s)
	}
	return s, err
}
