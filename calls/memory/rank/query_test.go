package rank

import (
	"slices"
	"strings"
	"testing"
)

func TestAnalyzeQuery(t *testing.T) {
	s := newShelf()
	for _, speaker := range []string{"Caroline", "Melanie", "Will Grace", "小雨", "Address", "Melanie", "Caroline", "Will Grace", "小雨"} {
		s.add(0, wednesday, speaker, "some words")
	}
	for text, want := range map[string]string{
		"What did Caroline research?":           "research | Caroline",
		"What is Mel's dog called?":             "dog call | Melanie",
		"melanie and caroline":                  "melani carolin | Caroline Melanie", // perhaps other words
		"What will Grace do?":                   "grace | Will Grace",
		"What's the address of Caroline?":       "address | Address Caroline", // of one memory only: perhaps a label
		"How many times did she paint?":         "time paint |",
		"When did they go camping in July?":     "go camp juli | when",
		"Where does she live now?":              "live | newest",
		"小雨在阳台上种了什么？":                           "阳 在阳 台 阳台 上 台上 种 上种 种了 | 小雨 zh",
		"小雨什么时候去？":                              "去 | 小雨 when zh",
		"最近怎么样":                                 "最 近 最近 | newest zh",
		"ERR-4021 dogs dog":                     "err-4021 err 4021 dog |",
		"Who is Melanie?":                       "melani | Melanie", // nothing else is asked
		"Did Caroline go on 7 May 2023 or not?": "go 7 may 2023 | Caroline",
	} {
		a := analyzeQuery(&Query{Text: text, Now: wednesday}, s.index)
		var terms, marks []string
		for _, x := range a.Terms {
			terms = append(terms, x.Text)
		}
		for _, n := range a.Speakers {
			marks = append(marks, s.index.Speakers[n])
		}
		slices.Sort(marks)
		for _, mark := range []struct {
			name string
			is   bool
		}{{"when", a.When}, {"newest", a.Newest}, {"zh", a.Chinese}} {
			if mark.is {
				marks = append(marks, mark.name)
			}
		}
		if got := strings.TrimSpace(strings.Join(terms, " ") + " | " + strings.Join(marks, " ")); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestEarlier: earlier utterances help a question that says little.
func TestEarlier(t *testing.T) {
	earlier := []string{"long ago", "the violin", "an orchestra", "in Vienna"}
	for text, want := range map[string]int{"And where is that?": 3, "what about tickets": 4, "Which tickets did they sell yesterday?": 3} {
		a := analyzeQuery(&Query{Text: text, Earlier: earlier, Now: wednesday}, NewIndex(nil))
		if len(a.Terms) != want || strings.Contains(text, "And") && (a.Terms[0].Weight != 1 || a.Terms[1].Weight != earlierWeight) {
			t.Errorf("%q: %+v", text, a.Terms)
		}
	}
}

// In a handful of memories a follow-up is found by the subject of an earlier turn, however much else that turn
// said, and not by one of its verbs or a part of a word.
func TestFollowUps(t *testing.T) {
	memories := []string{"我的猫叫豆豆，三岁了。", "买了一台咖啡机。", "小雨在学小提琴。", "妈妈的生日是五月。", "我对花生过敏。"}
	for _, test := range []struct {
		earlier, text string
		want          []uint32
	}{
		{"我的猫最近不吃东西", "它呢", []uint32{0}}, {"我的猫生病了，带它去看了医生", "它呢", []uint32{0}}, {"我的猫今天打碎了一个花瓶", "它叫什么", []uint32{0}}, {"小雨最近忙什么", "她呢", []uint32{2}},
		{"我想知道妈妈喜欢什么", "她呢", []uint32{3}}, {"量子力学是什么", "它呢", nil}, {"我买了辆车", "它呢", nil}, {"医生问我有没有过敏", "那是什么", []uint32{4}}, {"医生说要多喝水", "为什么", nil}, {"我爸的车坏了", "它呢", nil},
	} {
		s := newShelf()
		for i, text := range memories {
			s.add(None, wednesday.AddDate(0, 0, -i), "", text)
		}
		r := s.search(t, Query{Text: test.text, Earlier: []string{test.earlier}, Session: None})
		var shown []uint32
		for _, h := range r.Hits {
			if m := r.Analysis.MatchMemory(&s.docs[h.Seq], memories[h.Seq], wednesday); m.Telling && r.Relevance(h.Score) > 0.5 {
				shown = append(shown, h.Seq)
			}
		}
		if !slices.Equal(shown, test.want) {
			t.Errorf("%s, %s: %v are shown, want %v", test.earlier, test.text, shown, test.want)
		}
	}
}

func FuzzRank(f *testing.F) {
	s := newShelf()
	for i, text := range []string{"Ann: I went to the beach yesterday.", "Which one?", "小雨：我在学小提琴", "ERR-4021 in parse_config", "Müller: ok", "2023年5月"} {
		s.add(int32(i/2), wednesday.AddDate(0, -i, 0), "", text)
	}
	for _, seed := range []string{"When did Ann go?", "小雨学什么", "Ann", "5月", "now", "'s", "a\xff", strings.Repeat("x ", 400)} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, text, earlier string) {
		r := s.search(t, Query{Text: text, Earlier: []string{earlier}, Session: 0})
		if len(r.Analysis.Terms) > maxTerms {
			t.Fatalf("%q has %d terms", text, len(r.Analysis.Terms))
		}
		for i, h := range r.Hits {
			relevance := r.Relevance(h.Score)
			if !(relevance >= 0 && relevance <= 1) || i > 0 && h.Score > r.Hits[i-1].Score {
				t.Fatalf("%q: %+v of relevance %v", text, h, relevance)
			}
		}
	})
}
