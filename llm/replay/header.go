package replay

import (
	"time"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Header records how a run began, so that it can begin in the same way again.
type Header struct {
	// Run is the id that the run had.
	Run string
	// Flow is the digest of the flow's text, Inputs the digest of everything that the run was given.
	Flow, Inputs string
	// InputsAlone is Inputs without the conversation before them; "" for a run without one. It is not written, and is for messages.
	InputsAlone string
	// User is the user of the run; "" is none.
	User string
	// Now is the time of its clock, which does not move. Resumed are the times of the clock each time it was
	// resumed.
	Now     time.Time
	Resumed []time.Time
	// Seed is the seed of its random numbers.
	Seed uint64
	// Language is the default language of flows, and Zone the time zone of its clock, both from the settings of
	// the machine that recorded it; "" is not known, or none.
	Language, Zone string
	// UserZones are the users' time zones in the settings, for the users that the run asked about.
	UserZones map[string]string
	// Program is the version that recorded it.
	Program string
	// Take counts the runs that one process began with the same inputs for the same user, such as a
	// second "yes" in a chat; from 1.
	Take int
	// Names are the names of the providers and models that were asked, by the names in the flow, such as main or
	// main,backup; "" is the key if the flow names none.
	Names map[string]ModelNames
	// Secrets are the secrets that the flow had, by name, each as its length: see [Run.Secret].
	Secrets map[string]shape
	// IsEnded is false for a run that did not finish, or that is being recorded.
	IsEnded bool
}

// ModelName is the name of a provider and of the model that it asks.
type ModelName struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Images is [llm.Candidate] Images.
	Images bool `json:"images,omitempty"`
}

// ModelNames are the model names of a list of providers. A file has one without the list.
type ModelNames []ModelName

// DecodeValue reads one, or a list.
func (n *ModelNames) DecodeValue(v value.Value) error {
	if v.Kind() == value.List {
		return value.Decode(v, (*[]ModelName)(n))
	}
	*n = make(ModelNames, 1)
	return value.Decode(v, &(*n)[0])
}

// EncodeValue is the opposite of DecodeValue.
func (n ModelNames) EncodeValue() (value.Value, error) {
	if len(n) == 1 {
		return value.Of(n[0])
	}
	return value.Of([]ModelName(n))
}

// DigestOf returns the digest of values that does not depend on the order of keys or the spelling of numbers.
func DigestOf(v value.Value) string { return keyOf(v) }

// isSameStart reports whether two runs began with the same inputs for the same user.
func (h *Header) isSameStart(o *Header) bool { return h.Inputs == o.Inputs && h.User == o.User }

// encode returns the header as the file has it.
func (h *Header) encode() *value.Map {
	m := value.NewMap(10)
	for _, member := range []struct{ name, text string }{
		{"run", h.Run}, {"flow", h.Flow}, {"inputs", h.Inputs}, {"user", h.User}, {"now", h.Now.Format(time.RFC3339Nano)}, {"language", h.Language}, {"timezone", h.Zone}, {"program", h.Program},
	} {
		if member.text != "" {
			m.Set(member.name, value.OfString(member.text))
		}
	}
	m.Set("seed", value.OfInt(int64(h.Seed)))
	if len(h.Resumed) > 0 {
		list := make([]value.Value, len(h.Resumed))
		for i, t := range h.Resumed {
			list[i] = value.OfString(t.Format(time.RFC3339Nano))
		}
		m.Set("resumed", value.OfList(list...))
	}
	if len(h.Names) > 0 {
		m.Set("models", value.Must(h.Names))
	}
	if len(h.UserZones) > 0 {
		m.Set("user_timezones", value.Must(h.UserZones))
	}
	if len(h.Secrets) > 0 {
		m.Set("secrets", value.Must(h.Secrets))
	}
	if h.Take > 1 {
		m.Set("take", value.OfInt(int64(h.Take)))
	}
	if !h.IsEnded {
		m.Set("ended", value.OfBool(false))
	}
	return m
}

// decode reads a header.
func (h *Header) decode(v value.Value) error {
	if err := checkMembers(v, "run", "flow", "inputs", "user", "now", "language", "timezone", "user_timezones", "program", "seed", "resumed", "models", "secrets", "take", "ended", "recordings"); err != nil {
		return err
	}
	var now string
	for _, member := range []struct {
		name string
		to   *string
	}{{"run", &h.Run}, {"flow", &h.Flow}, {"inputs", &h.Inputs}, {"user", &h.User}, {"now", &now}, {"language", &h.Language}, {"timezone", &h.Zone}, {"program", &h.Program}} {
		text, has := v.Get(member.name)
		s, isText := text.Str()
		if has && !isText {
			return wording.Errorf("%s: want a text, got %s", member.name, text)
		}
		*member.to = s
	}
	var err error
	h.Now, err = parseHeaderTime("now", now)
	if err != nil {
		return err
	}
	resumed, _ := v.Get("resumed")
	for _, item := range resumed.List() {
		text, _ := item.Str()
		t, err := parseHeaderTime("resumed", text)
		if err != nil {
			return err
		}
		h.Resumed = append(h.Resumed, t)
	}
	if models, has := v.Get("models"); has {
		if err := value.Decode(models, &h.Names); err != nil {
			return wording.Errorf("models: %w", err)
		}
	}
	if zones, has := v.Get("user_timezones"); has {
		if err := value.Decode(zones, &h.UserZones); err != nil {
			return wording.Errorf("user_timezones: %w", err)
		}
	}
	if secrets, has := v.Get("secrets"); has {
		if err := value.Decode(secrets, &h.Secrets); err != nil {
			return wording.Errorf("secrets: %w", err)
		}
	}
	return h.decodeNumbers(v)
}

func (h *Header) decodeNumbers(v value.Value) error {
	h.Take, h.IsEnded = 1, true
	if seed, has := v.Get("seed"); has {
		n, isInt := seed.Int()
		if !isInt {
			return wording.Errorf("seed: want a whole number, got %s", seed)
		}
		h.Seed = uint64(n)
	}
	if take, has := v.Get("take"); has {
		n, isInt := take.Int()
		if !isInt || n < 1 {
			return wording.Errorf("take: want a number from 1, got %s", take)
		}
		h.Take = int(n)
	}
	if ended, has := v.Get("ended"); has {
		var isBool bool
		h.IsEnded, isBool = ended.Bool()
		if !isBool {
			return wording.Errorf("ended: want true or false, got %s", ended)
		}
	}
	return nil
}

// parseHeaderTime reads a time as encode writes it. An offset is kept also if this machine has the same.
func parseHeaderTime(name, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, wording.Errorf("%s: want a time such as 2026-11-28T09:00:00Z, got %q", name, text)
	}
	if t.Location() == time.Local && t.Location() != time.UTC {
		_, offset := t.Zone()
		t = t.In(time.FixedZone("", offset))
	}
	return t, nil
}
