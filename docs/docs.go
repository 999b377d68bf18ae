// Package docs holds the guides as Markdown. `scheduler help TOPIC` prints them, the page of
// `scheduler serve` shows them under Help, and the server hands them out below /docs, for
// example /docs/tutorial.md.
//
// README.md is the table of contents: its list gives the order, the titles and one line for each
// guide. A guide in Chinese has the same file name below zh/.
package docs

import (
	"embed"
	"regexp"
	"sync"

	"github.com/callnode/scheduler/llm/value/wording"
)

//go:embed *.md zh/*.md
var files embed.FS

// Guide is one entry of the table of contents.
type Guide struct {
	// Topic is the name of the file without .md, for example chats-and-users.
	Topic string
	// Title is the heading of the guide.
	Title string
	// Summary says in one line what a reader finds there.
	Summary string
}

// entry returns the pattern of a line of the table of contents: "- [Title](topic.md): summary". Most commands read no guide, so
// it is compiled at first use.
var entry = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^- \[(.+?)\]\((?:\.\./)?([a-z-]+)\.md\): (.+)$`) })

// List returns the guides in reading order, with titles and summaries in the language, for example zh or zh_CN.UTF-8.
func List(language string) []Guide {
	var guides []Guide
	for _, m := range entry().FindAllStringSubmatch(read("README", language), -1) {
		guides = append(guides, Guide{Topic: m[2], Title: m[1], Summary: m[3]})
	}
	return guides
}

// Read returns the guide of a topic as Markdown, in English if there is none in the language. README
// is the table of contents. It reports whether there is such a topic.
func Read(topic, language string) (string, bool) {
	if topic == "README" {
		return read(topic, language), true
	}
	for _, guide := range List("en") {
		if guide.Topic == topic {
			return read(topic, language), true
		}
	}
	return "", false
}

func read(topic, language string) string {
	if wording.IsChinese(language) {
		if text, err := files.ReadFile("zh/" + topic + ".md"); err == nil {
			return string(text)
		}
	}
	text, _ := files.ReadFile(topic + ".md") // a topic of the list has a file: TestList
	return string(text)
}
