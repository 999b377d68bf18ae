// Package tokens compares the counts of llm/tokens with a library's, and makes its table of the vocabulary, for
// example comparing both counts of each document in docs. It is a module of its own, because the library's
// vocabularies take 6 MB of a program.
package tokens

import (
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/callnode/scheduler/llm/tokens"
)

var update = flag.Bool("update", false, "write the table of the vocabulary")

// TestTable holds llm/tokens/o200k.bin to the vocabulary of the library; with -update it writes it.
func TestTable(t *testing.T) {
	const path = "../../../llm/tokens/o200k.bin"
	table := makeTable(t)
	if *update {
		if err := os.WriteFile(path, table, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(table) {
		t.Errorf("%s is not the vocabulary of the library (-update writes it)", path)
	}
}

// makeTable returns the table that llm/tokens reads, whose form vocabulary.go describes.
func makeTable(t *testing.T) []byte {
	t.Helper()
	library := codec.NewO200kBase()
	const buckets, ordinary = 1 << 16, 199_998 // the tokens above are special
	var byBucket [buckets][]byte
	for rank := range uint(ordinary) {
		text, err := library.Decode([]uint{rank})
		if err != nil || len(text) > 255 {
			t.Fatalf("token %d has %d bytes, error %v", rank, len(text), err)
		}
		sum := uint32(2166136261)
		for _, b := range []byte(text) {
			sum = (sum ^ uint32(b)) * 16777619
		}
		bucket := &byBucket[(sum>>16^sum)&(buckets-1)]
		*bucket = append(*bucket, byte(len(text)), byte(rank), byte(rank>>8), byte(rank>>16))
		*bucket = append(*bucket, text...)
	}
	var offsets, all []byte
	for _, bucket := range byBucket {
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(4*(buckets+1)+len(all)))
		all = append(all, bucket...)
	}
	offsets = binary.LittleEndian.AppendUint32(offsets, uint32(4*(buckets+1)+len(all)))
	return append(offsets, all...)
}

// texts returns the texts for which the counts are compared: each exception of the splitting pattern, and the
// documents and sources of this repository.
func texts(t testing.TB) []string {
	t.Helper()
	all := []string{
		"", " ", "  ", "\n", " \n ", "a  b", "a \n\n  b", "x\r\n\r\ny", "\t\tif x {", "end  ", "end \n",
		"camelCaseHTTPServer", "ABCdef", "ABC", "Ǆabc", "ǅabc", "don't DON'T we'LL he'S it'ſ 'tis 'reword o'clock",
		"12345678", "1,234.5", "Ⅷ½²", " +-*/", "path//to\n/", "!!\n\n", " ?", "?? ", "...\r\n/x",
		"你好，世界。今天天气怎么样？", "中文English混排2025年", "ひらがなカタカナ", "한국어 문장", "ไทย", "नमस्ते दुनिया", "العربية",
		"e\u0301te\u0301", "\u0301x", "\u0301", " \u0301\u0301 a", "A\u0301B", "ʰʰA", "👩‍👩‍👧‍👦 🇩🇪", "\u00a0\u3000x", "\u2028\u0085",
		"\xff\xfe", "a\xc3", "\xe4\xbd\xa0\xe5", "<|endoftext|>", "\x00\x01", strings.Repeat("a", 5000), strings.Repeat(" ", 500) + "x",
		strings.Repeat("ab", 300), strings.Repeat("=", 300), strings.Repeat("\n", 300), strings.Repeat("中", 300),
	}
	for _, pattern := range []string{"../../../*.md", "../../../docs/*.md", "../../../docs/zh/*.md", "../../../llm/tokens/*.go", "../../../calls/internal/date/*.go", "../../../flows/*.yaml", "../../../scheduler/server/testdata/*.json"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text[:min(len(text), 200_000)]))
		}
	}
	return all
}

func TestSameCounts(t *testing.T) {
	library := codec.NewO200kBase()
	for _, text := range texts(t) {
		compare(t, library, text)
	}
}

// FuzzSameCounts looks for a text that is counted in another way.
func FuzzSameCounts(f *testing.F) {
	library := codec.NewO200kBase()
	for _, text := range texts(f) {
		f.Add(text[:min(len(text), 500)])
	}
	f.Fuzz(func(t *testing.T, text string) { compare(t, library, text) })
}

// blankLine is a line of white space only.
var blankLine = regexp.MustCompile(`([\r\n])[\t\v\f\x{85}\pZ]+([\r\n])`)

// compare fails the test if a text is counted in two ways. Two faults of the library are left out:
// it drops U+007F, and ends a piece before a line of white space, although "\n \n" is a token.
func compare(t *testing.T, library *codec.Codec, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, "\x7f", "")
	for blankLine.MatchString(text) {
		text = blankLine.ReplaceAllString(text, "$1$2")
	}
	want, err := library.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := tokens.For("").Count(text); got != want {
		t.Errorf("%d tokens, the library counts %d: %.200q", got, want, text)
	}
}

func BenchmarkCount(b *testing.B) {
	page, err := os.ReadFile("../../../README.md")
	if err != nil {
		b.Fatal(err)
	}
	text, library := string(page), codec.NewO200kBase()
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			tokens.For("").Count(text)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := library.Count(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
