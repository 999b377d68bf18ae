package facts

import "testing"

func BenchmarkExtract(b *testing.B) {
	for _, test := range []struct{ name, text string }{
		{"without", "There was a fox on the platform this morning, completely unbothered, and the children stared at it."},
		{"with", "I left Maersk last month and joined Siemens, so I moved to Aarhus."},
		{"chinese", "我上个月从一家律所离职,去了市图书馆,现在住在佛山。"},
		{"chinese without", "讲座讲的是古罗马的水泥,居然挺有意思。"},
	} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				Extract(&Text{Content: test.text, Role: "user", Time: may})
			}
		})
	}
}

func BenchmarkQuestion(b *testing.B) {
	for b.Loop() {
		ReadQuestion("What did the fox on the platform eat?", may)
	}
}
