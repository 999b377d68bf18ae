package scheduler

import (
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm/value/secret"
)

// TestWholeImages cuts texts into pieces of every length: the bytes of an image come
// in one piece, and nothing is lost.
func TestWholeImages(t *testing.T) {
	payload := strings.Repeat("iVBORw0KGgo+/", 20) + "=="
	for _, url := range []string{
		"data:image/png;base64," + payload,
		"DATA:image/svg+xml;charset=utf-8;BASE64," + payload,
		"data:image/png;base64," + payload[:60] + "\n" + payload[60:120] + "\r\n" + payload[120:],
	} {
		for _, text := range []string{url, "See ![it](" + url + ") and " + url + ". The data: it is dat", `{"a":"` + url + `"}`, "d" + url + " ada data:text/plain,x"} {
			for size := 1; size <= len(text); size++ {
				mask := textMask{secrets: &secrets{}}
				var shown []string
				for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
					shown = append(shown, mask.addPiece(rest[:min(size, len(rest))])...)
				}
				shown = append(shown, mask.flushAll()...)
				if all := strings.Join(shown, ""); all != text {
					t.Fatalf("pieces of %d: %q became %q", size, text, all)
				}
				found := 0
				for _, piece := range shown {
					found += strings.Count(piece, url)
				}
				if want := strings.Count(text, url); found != want {
					t.Fatalf("pieces of %d: %d whole images, want %d, in %q", size, found, want, shown)
				}
			}
		}
	}
	// Other text is not held back for long.
	mask := textMask{secrets: &secrets{}}
	for _, piece := range []string{"the data: ", "at a:b ", "data:,x ", "data:text/plain;base65,xxxx ", "data:" + strings.Repeat("x", 300) + ",", "data:数据"} {
		if got := strings.Join(mask.addPiece(piece), ""); got != piece {
			t.Errorf("of %q it shows %q", piece, got)
		}
	}
}

// TestTextIsOver: the held-back part of a text is shown as soon as the text is over.
func TestTextIsOver(t *testing.T) {
	image := "data:image/png;base64,iVBORw0KGgo"
	mask := textMask{secrets: &secrets{}}
	var shown []string
	for _, piece := range []string{"the end", "", " of the data", "", ": " + image, "", "AAAA", "."} {
		text := strings.Join(mask.addPiece(piece), "")
		if piece == "" {
			text = mask.images.flushText()
		}
		shown = append(shown, text)
	}
	if got := strings.Join(shown, "|"); got != "the en|d| of the |data|: |||"+image+"AAAA." {
		t.Errorf("got %s", got)
	}
}

// TestPiecesDoNotTellSecrets: a text with a secret is shown in the same pieces, whichever letters the secret has, and never a part of it.
func TestPiecesDoNotTellSecrets(t *testing.T) {
	texts := []string{"so it is ", "S", " is so, and ", "S", "S", "s and ", "S", " again. Yes"}
	for size := 1; size <= 30; size++ {
		var want []string
		for _, token := range []string{"sk-live-0pen-sesame", "~q-9x!#zzqqq--_0123", "aaaaaaaaaaaaaaaaaaa"} {
			set := secret.SetOf(token)
			mask := textMask{secrets: &secrets{set}}
			text := strings.ReplaceAll(strings.Join(texts, ""), "S", token)
			var shown []string
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				shown = append(shown, mask.addPiece(rest[:min(size, len(rest))])...)
			}
			shown = slices.DeleteFunc(append(shown, mask.flushAll()...), func(piece string) bool { return piece == "" })
			if all := strings.Join(shown, ""); all != set.MaskText(text) {
				t.Fatalf("pieces of %d: %q became %q", size, text, all)
			}
			if want == nil {
				want = shown
			}
			if !slices.Equal(shown, want) {
				t.Fatalf("pieces of %d with %s: %q, want %q", size, token, shown, want)
			}
		}
	}
}
