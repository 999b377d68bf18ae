package rank

import (
	"fmt"
	"hash/fnv"
	"testing"
)

// TestAnalysisVersion fails when texts are split in another way: then AnalysisVersion must grow, or memories in
// existing stores are not found any more.
func TestAnalysisVersion(t *testing.T) {
	h := fnv.New64a()
	for _, text := range []string{
		"Caroline: I went to the support group's meeting yesterday, and it wasn't easy.",
		"The children bought two bikes, a TV and 1,000 photos in May 2023; their favourite movie was Inception!",
		"Why did you choose café con leche over tea?", "HTTPServer_v2.1 at https://a.example/b?c=d, user@host, snake_case, kebab-case, fooBar",
		"running runner ran organisations beautifully colours happiness studies universities", "Address: 12 Mill Street, +49 170 555",
		"小雨：我上周去了北京的人工智能大会，花了三天。", "他喜欢喝茉莉花茶吗？", "二〇二四年五月一日 ＡＢＣ１２３", "東京タワーは高い", "서울에서 만났어요",
		"Der Größte war naïve", "😀 x² ﬁne ½", "note: remember the milk last weekend", "I am allergic to cats; her allergies are historical",
	} {
		for _, speaker := range []string{"", "Caroline"} {
			fmt.Fprintln(h, Analyze(text, speaker))
		}
	}
	want := map[int]string{1: "acfb49bbb4924552", 2: "d6d1d06aff98c55b", 3: "a3bf346367163f6f"}[AnalysisVersion]
	if got := fmt.Sprintf("%x", h.Sum64()); got != want {
		t.Errorf("the analysis gives %s, in version %d it gave %q: count AnalysisVersion up, and put the new sum here", got, AnalysisVersion, want)
	}
}
