package trigger_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/scheduler/trigger"
)

// plan reads a cron expression in a zone.
func plan(t testing.TB, cron, zone string) *trigger.Schedule {
	t.Helper()
	z, err := trigger.LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	s, err := trigger.ParseSchedule(cron, z)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at reads a time; most tests write UTC.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

// TestClockChanges lists the fires around both changes of the clocks: with a fixed hour, a
// time that is skipped fires after the change, and one that comes twice fires once. Every
// hour goes on by the clock of the world.
func TestClockChanges(t *testing.T) {
	for name, c := range map[string]struct {
		cron, zone, from string
		want             []string // fire and key
	}{
		"a skipped time": {"30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", []string{
			"2026-03-08T03:30:00-04:00 2026-03-08T03:30", "2026-03-09T02:30:00-04:00 2026-03-09T02:30",
		}},
		"a repeated time": {"30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", []string{
			"2026-11-01T01:30:00-04:00 2026-11-01T01:30", "2026-11-02T01:30:00-05:00 2026-11-02T01:30",
		}},
		"the hour after the repeated one": {"0 2 * * *", "America/New_York", "2026-10-31T12:00:00Z", []string{
			"2026-11-01T02:00:00-05:00 2026-11-01T02:00", "2026-11-02T02:00:00-05:00 2026-11-02T02:00",
		}},
		"every hour in spring": {"30 * * * *", "America/New_York", "2026-03-08T06:00:00Z", []string{
			"2026-03-08T01:30:00-05:00 2026-03-08T06:30Z", "2026-03-08T03:30:00-04:00 2026-03-08T07:30Z",
		}},
		"every hour in autumn": {"30 * * * *", "America/New_York", "2026-11-01T05:00:00Z", []string{
			"2026-11-01T01:30:00-04:00 2026-11-01T05:30Z", "2026-11-01T01:30:00-05:00 2026-11-01T06:30Z", "2026-11-01T02:30:00-05:00 2026-11-01T07:30Z",
		}},
		"half an hour back": {"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", []string{
			"2026-04-05T01:45:00+11:00 2026-04-05T01:45", "2026-04-06T01:45:00+10:30 2026-04-06T01:45",
		}},
		"no change": {"0 7 * * 1-5", "Asia/Shanghai", "2026-11-20T12:00:00Z", []string{
			"2026-11-23T07:00:00+08:00 2026-11-23T07:00", "2026-11-24T07:00:00+08:00 2026-11-24T07:00",
		}},
		"a day or a weekday": {"0 0 1 * 1", "", "2026-10-31T12:00:00Z", []string{
			"2026-11-01T00:00:00Z 2026-11-01T00:00", "2026-11-02T00:00:00Z 2026-11-02T00:00",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := plan(t, c.cron, c.zone)
			next := at(t, c.from)
			for _, want := range c.want {
				next = s.Next(next)
				if got := next.Format(time.RFC3339) + " " + s.Key(next); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
}

// TestFiresAreThoseOfTheWall compares the fires of a year with the times on the wall, each looked up by itself:
// even if the clocks skip midnight, or half an hour.
func TestFiresAreThoseOfTheWall(t *testing.T) {
	zones := []string{
		"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "Atlantic/Azores", "America/Havana", "Asia/Beirut",
	}
	for _, zone := range zones {
		z, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for cron, minutes := range map[string][]int{ // of the day
			"0 0 * * *": {0}, "30 0 * * *": {30}, "15,45 2 * * *": {135, 165}, "0 1-3 * * *": {60, 120, 180}, "59 23 * * *": {23*60 + 59},
		} {
			var want []time.Time
			for day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == 2026; day = day.AddDate(0, 0, 1) {
				for _, minute := range minutes {
					want = append(want, instantOf(day.Add(time.Duration(minute)*time.Minute), z))
				}
			}
			slices.SortFunc(want, time.Time.Compare)
			want = slices.CompactFunc(want, time.Time.Equal) // a skipped time and the one after it
			got := plan(t, cron, zone).Between(instantOf(time.Date(2025, 12, 31, 23, 59, 59, 0, time.UTC), z), instantOf(time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), z), 1<<20)
			for i := range max(len(want), len(got)) {
				if i >= len(want) || i >= len(got) || !want[i].Equal(got[i]) {
					t.Errorf("%s in %s: got %v, want %v", cron, zone, got[min(i, len(got)):min(i+2, len(got))], want[min(i, len(want)):min(i+2, len(want))])
					break
				}
			}
		}
	}
}

// instantOf returns when clocks of a zone show a time, which is written as one of UTC: the first time; if they
// skip it, when they would have shown it.
func instantOf(wall time.Time, z *time.Location) time.Time {
	_, before := wall.Add(-26 * time.Hour).In(z).Zone()
	_, after := wall.Add(26 * time.Hour).In(z).Zone()
	for _, offset := range []int{max(before, after), min(before, after)} { // the greater is the earlier
		at := wall.Add(-time.Duration(offset) * time.Second).In(z)
		if _, is := at.Zone(); is == offset {
			return at
		}
	}
	return wall.Add(-time.Duration(before) * time.Second).In(z)
}

// For any schedule, fires go forward, have keys of their own, and the fires of two parts of a time are together
// the fires of the whole.
func TestFiresAreOneSeries(t *testing.T) {
	zones := []string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Shanghai", "Africa/Cairo", "America/Santiago"}
	rapid.Check(t, func(r *rapid.T) {
		field := func(name string, all []string) string { return rapid.SampledFrom(all).Draw(r, name) }
		cron := field("minute", []string{"*", "0", "30", "*/7", "15,45"}) + " " + field("hour", []string{"*", "1", "2", "1-3", "*/2", "0"}) + " " +
			field("day", []string{"*", "1", "8", "25-31"}) + " " + field("month", []string{"*", "3,11", "4,10"}) + " " + field("weekday", []string{"*", "0", "MON-FRI"})
		s := plan(t, cron, rapid.SampledFrom(zones).Draw(r, "zone"))
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 365*24*60).Draw(r, "from")) * time.Minute)
		middle, until := from.Add(36*time.Hour), from.Add(72*time.Hour)
		whole := s.Between(from, until, 1<<20)
		parts := append(s.Between(from, middle, 1<<20), s.Between(middle, until, 1<<20)...)
		if !slices.EqualFunc(whole, parts, time.Time.Equal) {
			r.Fatalf("%s: in parts %v, as a whole %v", cron, parts, whole)
		}
		keys := map[string]bool{}
		for i, fire := range whole {
			if i > 0 && !fire.After(whole[i-1]) || keys[s.Key(fire)] {
				r.Fatalf("%s: %v comes after %v, key %s", cron, fire, whole[max(i-1, 0)], s.Key(fire))
			}
			keys[s.Key(fire)] = true
		}
	})
}

// TestDue decides about fires that no server has seen.
func TestDue(t *testing.T) {
	hourly := plan(t, "0 * * * *", "")
	now := "2026-11-23T12:00:20Z"
	for name, c := range map[string]struct {
		catchUp, after, now string
		jitter              time.Duration
		due, missed         int
		last                string
	}{
		"nothing":                  {trigger.CatchUpAll, "2026-11-23T12:00:00Z", now, 0, 0, 0, ""},
		"in time":                  {trigger.CatchUpSkip, "2026-11-23T11:00:00Z", now, 0, 1, 0, "12:00"},
		"missed, skip":             {trigger.CatchUpSkip, "2026-11-23T07:00:00Z", "2026-11-23T11:30:00Z", 0, 0, 4, ""},
		"missed, skip, one now":    {trigger.CatchUpSkip, "2026-11-23T07:00:00Z", now, 0, 1, 4, "12:00"},
		"missed, last":             {trigger.CatchUpLast, "2026-11-23T07:00:00Z", "2026-11-23T11:30:00Z", 0, 1, 3, "11:00"},
		"missed, last, one now":    {trigger.CatchUpLast, "2026-11-23T07:00:00Z", now, 0, 1, 4, "12:00"},
		"missed, all":              {trigger.CatchUpAll, "2026-11-23T07:00:00Z", now, 0, 5, 0, "12:00"},
		"longer than a day":        {trigger.CatchUpAll, "2026-11-01T00:00:00Z", now, 0, 24, 0, "12:00"},
		"held back by its jitter":  {trigger.CatchUpAll, "2026-11-23T11:00:00Z", "2026-11-23T12:00:00Z", time.Hour, 0, 0, ""},
		"all behind their jitters": {trigger.CatchUpSkip, "2026-11-23T11:00:00Z", "2026-11-23T12:59:59Z", time.Hour - time.Second, 1, 0, "12:00"},
	} {
		t.Run(name, func(t *testing.T) {
			due, missed, _ := hourly.Due("hourly", at(t, c.after), at(t, c.now), c.catchUp, c.jitter)
			last := ""
			if len(due) > 0 {
				last = due[len(due)-1].Format("15:04")
			}
			if len(due) != c.due || missed != c.missed || last != c.last {
				t.Errorf("got %d due (the last at %s), %d missed; want %d (%s), %d", len(due), last, missed, c.due, c.last, c.missed)
			}
		})
	}
	minutely := plan(t, "* * * * *", "")
	due, missed, _ := minutely.Due("m", at(t, "2026-11-20T00:00:00Z"), at(t, now), trigger.CatchUpAll, 0)
	if len(due) != trigger.MaxCatchUpRuns || missed != 24*60-trigger.MaxCatchUpRuns {
		t.Errorf("after days: %d due, %d missed", len(due), missed)
	}
}

// Delays are within the jitter, and the same each time.
func TestDelay(t *testing.T) {
	seen := map[time.Duration]bool{}
	for _, key := range []string{"a", "b", "c", "d"} {
		d := trigger.Delay("s", key, time.Minute)
		if d < 0 || d >= time.Minute || d != trigger.Delay("s", key, time.Minute) {
			t.Errorf("%s: %v", key, d)
		}
		seen[d] = true
	}
	if len(seen) < 3 || trigger.Delay("s", "a", 0) != 0 {
		t.Errorf("the delays are %v", seen)
	}
}

func TestParseScheduleErrors(t *testing.T) {
	for cron, want := range map[string]string{
		"":                 "a cron expression has 5 fields, not 0: minute, hour, day, month, weekday",
		"60 * * * *":       `the minute cannot be "60": it is 0-59`,
		"* * * 13 *":       `the month cannot be "13": it is 1-12, JAN-DEC`,
		"* * L * *":        `the day cannot be "L": it is 1-31`,
		"0 0 30 2 *":       "it never fires",
		"@every 1h":        "unknown name",
		"TZ=UTC * * * * *": "a cron expression has 5 fields, not 6: minute, hour, day, month, weekday",
		"TZ=UTC * * * *":   `the minute cannot be "TZ=UTC": it is 0-59`,
	} {
		if _, err := trigger.ParseSchedule(cron, time.UTC); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", cron, err, want)
		}
	}
	if _, err := trigger.ParseSchedule("@every 1h", nil); !errors.Is(err, trigger.ErrDescriptor) {
		t.Error(err)
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, cron := range []string{"* * * * *", "@daily", "0 7 * * 1-5", "*/5 1,2 1-31/2 JAN mon", "0 0 29 2 0"} {
		f.Add(cron)
	}
	f.Fuzz(func(t *testing.T, cron string) {
		s, err := trigger.ParseSchedule(cron, time.UTC)
		if err != nil {
			return
		}
		from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if next := s.Next(from); !next.After(from) {
			t.Errorf("%q fires at %v after %v", cron, next, from)
		}
	})
}

// The values are those that standard-webhooks and GitHub publish with their libraries and docs.
func TestPublishedSignatures(t *testing.T) {
	for _, secret := range []string{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		got, err := trigger.SignStandard(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
		if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	github := trigger.Verification{Way: trigger.VerifyGitHub, Secret: "It's a Secret to Everybody"}
	h := http.Header{"X-Hub-Signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}
	if err := github.Check(h, []byte("Hello, World!"), time.Now()); err != nil {
		t.Error(err)
	}
}

// TestCheck lets requests in that are signed, and no others.
func TestCheck(t *testing.T) {
	now := time.Unix(1614265330, 0)
	body := []byte(`{"test": 2432232314}`)
	standard := &trigger.Verification{Way: trigger.VerifyStandard, Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	signed := http.Header{}
	if err := trigger.SetStandard(signed, standard.Secret, "msg_1", now, body); err != nil {
		t.Fatal(err)
	}
	with := func(name, value string) http.Header {
		h := signed.Clone()
		h.Set(name, value)
		return h
	}
	header := &trigger.Verification{Way: trigger.VerifyHeader, Header: "X-Gitlab-Token", Secret: "s3"}
	for name, c := range map[string]struct {
		v      *trigger.Verification
		header http.Header
		body   string
		now    time.Time
		want   string // "" is let in
	}{
		"signed":                  {standard, signed, string(body), now, ""},
		"one of two signatures":   {standard, with("Webhook-Signature", "v1,AAAA "+signed.Get("Webhook-Signature")), string(body), now, ""},
		"4 minutes later":         {standard, signed, string(body), now.Add(4 * time.Minute), ""},
		"6 minutes later":         {standard, signed, string(body), now.Add(6 * time.Minute), "too old"},
		"6 minutes before":        {standard, signed, string(body), now.Add(-6 * time.Minute), "too old"},
		"a tampered body":         {standard, signed, string(body) + " ", now, "missing or wrong"},
		"a tampered id":           {standard, with("Webhook-Id", "msg_2"), string(body), now, "missing or wrong"},
		"a tampered time":         {standard, with("Webhook-Timestamp", "1614265331"), string(body), now, "missing or wrong"},
		"no time":                 {standard, with("Webhook-Timestamp", ""), string(body), now, "lacks"},
		"another version":         {standard, with("Webhook-Signature", strings.Replace(signed.Get("Webhook-Signature"), "v1,", "v2,", 1)), string(body), now, "missing or wrong"},
		"no signature":            {standard, http.Header{}, string(body), now, "lacks"},
		"no secret":               {&trigger.Verification{Way: trigger.VerifyStandard}, signed, string(body), now, "not set"},
		"a secret that is wrong":  {&trigger.Verification{Way: trigger.VerifyStandard, Secret: "!"}, signed, string(body), now, "base64"},
		"the header":              {header, http.Header{"X-Gitlab-Token": {"s3"}}, "", now, ""},
		"another header":          {header, http.Header{"X-Gitlab-Token": {"s4"}}, "", now, "missing or wrong"},
		"no header":               {header, http.Header{}, "", now, "missing or wrong"},
		"github without a header": {&trigger.Verification{Way: trigger.VerifyGitHub, Secret: "x"}, http.Header{}, "", now, "missing or wrong"},
		"anything":                {&trigger.Verification{Way: trigger.VerifyNone}, http.Header{}, "", now, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.v.Check(c.header, []byte(c.body), c.now)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Proofs of the sender are not shown to the flow.
func TestShownHeaders(t *testing.T) {
	v := &trigger.Verification{Way: trigger.VerifyHeader, Header: "X-Gitlab-Token"}
	shown := v.ShownHeaders(http.Header{"X-Gitlab-Token": {"s3"}, "Authorization": {"Basic x"}, "Cookie": {"a"}, "X-Gitlab-Event": {"Push Hook"}, "Accept": {"a", "b"}})
	if len(shown) != 2 || shown["x-gitlab-event"] != "Push Hook" || shown["accept"] != "a, b" {
		t.Errorf("got %v", shown)
	}
}
