package stored

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Decoder turns stored forms into values again. A backend makes one for each read; it
// is not safe for concurrent use.
type Decoder struct {
	// Get reads the payload that was stored under this digest.
	Get func(d Digest, secret bool) ([]byte, error)
	// WithMedia puts the bytes of images in place; without it their digests are shown.
	WithMedia bool

	seen     map[Digest]value.Value
	seenSize int
}

// NewDecoder returns a decoder for a store's content. read returns the data stored under a digest; found is false
// if there is none. Secret payloads are decrypted.
func (v *Vault) NewDecoder(withMedia bool, read func(at Digest) (data []byte, found bool, err error)) *Decoder {
	return &Decoder{WithMedia: withMedia, Get: func(d Digest, secret bool) ([]byte, error) {
		at := d
		if secret {
			at = d.Secret()
		}
		data, found, err := read(at)
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, MissingPayloadError(d)
		case secret:
			return v.Open(d, data)
		}
		return data, nil
	}}
}

// Header has the parts of a [journal.RunHeader] that are kept in stored form.
type Header struct{ Source, Files, Inputs, Conversation, Options []byte }

// DecodeHeader sets the parts of a header that are kept in stored form.
func (d *Decoder) DecodeHeader(h *journal.RunHeader, form Header) (err error) {
	h.Inputs, err = d.Decode(form.Inputs)
	if err != nil {
		return err
	}
	h.Conversation, err = d.DecodeConversation(form.Conversation)
	if err != nil {
		return err
	}
	h.Options, err = d.Decode(form.Options)
	if err != nil {
		return err
	}
	h.Text, err = d.FlowText(form.Source, form.Files)
	return err
}

// maxSeen bounds the payloads that a decoder keeps because they come again.
const maxSeen = 32 << 20

// Decode returns the value of a stored form.
func (d *Decoder) Decode(stored []byte) (value.Value, error) {
	v, err := value.ParseJSON(stored)
	if err != nil {
		return v, err
	}
	return d.unpackValue(v)
}

// DecodeConversation returns the messages of a stored form; null for one without bytes.
func (d *Decoder) DecodeConversation(stored []byte) (value.Value, error) {
	if len(stored) == 0 {
		return value.Value{}, nil
	}
	return d.Decode(stored)
}

// DecodeEvent returns the event of a stored form.
func (d *Decoder) DecodeEvent(stored []byte) (*journal.Event, error) {
	v, err := d.Decode(stored)
	if err != nil {
		return nil, err
	}
	ev := &journal.Event{}
	return ev, value.Decode(v, ev)
}

// Events yields the events of a run from a seq on, up to the last that info knows. readPage returns
// the stored forms of the next ones, at least one.
func (d *Decoder) Events(info *journal.RunInfo, from int64, readPage func(from int64) ([][]byte, error)) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		for seq := max(from, 1); seq <= info.LastSeq; {
			page, err := readPage(seq)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, body := range page {
				ev, err := d.DecodeEvent(body)
				if err != nil {
					yield(nil, wording.Errorf("event %d of the run %s: %w", seq, info.ID, err))
					return
				}
				if !yield(ev, nil) {
					return
				}
				seq++
			}
		}
	}
}

func (d *Decoder) unpackValue(v value.Value) (value.Value, error) {
	switch v.Kind() {
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			var err error
			items[i], err = d.unpackValue(item)
			if err != nil {
				return v, err
			}
		}
		return value.OfList(items...), nil
	case value.Object:
		return d.unpackObject(v.Map())
	}
	return v, nil
}

func (d *Decoder) unpackObject(m *value.Map) (value.Value, error) {
	if m.Len() == 1 {
		switch k, ref := m.Entry(0); {
		case k == blobKey:
			return d.readBlob(ref)
		case k == mediaKey:
			return d.joinMedia(ref.List())
		case strings.HasPrefix(k, "$$"):
			if bare := strings.TrimLeft(k, "$"); bare == blobKey[1:] || bare == mediaKey[1:] {
				m = value.Pairs(k[1:], ref)
			}
		}
	}
	full := value.NewMap(m.Len())
	for k, member := range m.All() {
		v, err := d.unpackValue(member)
		if err != nil {
			return v, err
		}
		full.Set(k, v)
	}
	return value.OfMap(full), nil
}

// loadBlob reads a blob and checks that it is unchanged.
func (d *Decoder) loadBlob(sum Digest, secret bool) ([]byte, error) {
	data, err := d.Get(sum, secret)
	if err == nil && sha256.Sum256(data) != sum {
		return nil, wording.Errorf("the payload %s is not what was stored: the journal is damaged", sum)
	}
	return data, err
}

// readBlob reads the value of a reference.
func (d *Decoder) readBlob(ref value.Value) (value.Value, error) {
	text, _ := ref.Str()
	sum, ok := ParseDigest(text)
	if !ok {
		return value.Value{}, wording.Errorf("%.80s is not a reference to a payload", ref)
	}
	if v, ok := d.seen[sum]; ok {
		return v, nil
	}
	stored, err := d.loadBlob(sum, false)
	if err != nil {
		return value.Value{}, err
	}
	v, err := d.Decode(stored)
	if err != nil {
		return v, err
	}
	d.seenSize += len(stored)
	if d.seen == nil || d.seenSize > maxSeen {
		d.seen, d.seenSize = map[Digest]value.Value{}, len(stored)
	}
	d.seen[sum] = v
	return v, nil
}

// joinMedia puts a string with images together.
func (d *Decoder) joinMedia(parts []value.Value) (value.Value, error) {
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 0 {
			text, _ := part.Str()
			if i+1 < len(parts) && !d.WithMedia {
				text = textBeforeHidden(text)
			}
			b.WriteString(text)
			continue
		}
		if err := d.writeMedium(&b, part); err != nil {
			return value.Value{}, err
		}
	}
	return value.OfString(b.String()), nil
}

// textBeforeHidden returns the text before an image that is not shown: without the mark of base64
// text.
func textBeforeHidden(before string) string {
	if before == "" {
		return "image"
	}
	return before[:max(0, len(before)-len(base64Mark))]
}

// writeMedium writes the text of one image, or the text shown instead.
func (d *Decoder) writeMedium(b *strings.Builder, ref value.Value) error {
	hexes, _ := ref.Get("sha256")
	text, _ := hexes.Str()
	sum, ok := ParseDigest(text)
	if !ok {
		return wording.Errorf("%.80s is not a reference to an image", ref)
	}
	if !d.WithMedia {
		size, _ := ref.Get("size")
		fmt.Fprintf(b, ";sha256=%s;size=%s", sum, size)
		return nil
	}
	data, err := d.loadBlob(sum, true)
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

// FlowText returns the text of a flow from the results of [Blobs.EncodeText].
func (d *Decoder) FlowText(source, files []byte) (text journal.FlowText, err error) {
	var sum Digest
	if copy(sum[:], source) != len(sum) {
		return text, wording.Errorf("the text of the flow is lost")
	}
	paths, err := value.ParseJSON(files)
	if err != nil {
		return text, err
	}
	return d.readText(sum, paths)
}

// readText reads the text of a flow by the digests of its source and of its files by path.
func (d *Decoder) readText(source Digest, paths value.Value) (text journal.FlowText, err error) {
	text.Source, err = d.readFile(source)
	if err != nil || paths.IsNull() {
		return text, err
	}
	text.Files = make(map[string][]byte, paths.Map().Len())
	for path, ref := range paths.Map().All() {
		if path == editedKey {
			if err := d.readBefore(&text, ref); err != nil {
				return text, err
			}
			continue
		}
		hexes, _ := ref.Str()
		sum, ok := ParseDigest(hexes)
		if !ok {
			return text, wording.Errorf("the file %s of the flow is lost", path)
		}
		text.Files[path], err = d.readFile(sum)
		if err != nil {
			return text, err
		}
	}
	return text, nil
}

// readBefore reads the other parts of an edited text.
func (d *Decoder) readBefore(text *journal.FlowText, ref value.Value) error {
	var edited struct {
		File   string      `json:"file"`
		Since  int64       `json:"since"`
		Source string      `json:"source"`
		Files  value.Value `json:"files"`
	}
	if err := value.Decode(ref, &edited); err != nil {
		return err
	}
	sum, ok := ParseDigest(edited.Source)
	if !ok {
		return wording.Errorf("the text of the flow is lost")
	}
	before, err := d.readText(sum, edited.Files)
	text.File, text.Since, text.Before = edited.File, edited.Since, &before
	return err
}

// readFile reads the text of a file, which is secret if it contains images.
func (d *Decoder) readFile(sum Digest) ([]byte, error) {
	data, err := d.loadBlob(sum, false)
	if missing := MissingPayloadError(sum); errors.Is(err, missing) {
		return d.loadBlob(sum, true)
	}
	return data, err
}
