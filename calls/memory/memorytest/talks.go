package memorytest

import (
	"bufio"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
)

//go:embed testdata/dialogue.txt testdata/chinese.txt
var data embed.FS

// Talk is one person's memories, with questions about them.
type Talk struct {
	User      string
	Memories  []memory.BaseMemory
	Questions []Question
}

// Question is a question and the ids of the memories that answer it.
type Question struct {
	Text     string
	Evidence []string
}

// Asked is when the questions are asked.
var Asked = time.Date(2025, 1, 15, 12, 0, 0, 0, time.UTC)

// Talks are conversations of several people that were written for tests: in English
// (dialogue) or Chinese (chinese).
func Talks(name string) ([]Talk, error) {
	file, err := data.Open("testdata/" + name + ".txt")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // of an embedded file
	p := parser{name: name}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		if err := p.parseLine(lines.Text()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return p.talks, lines.Err()
}

type parser struct {
	name    string
	talks   []Talk
	session string
	at      time.Time
	tags    map[string]string
}

func (p *parser) parseLine(text string) (err error) {
	fields := strings.Fields(text)
	switch {
	case len(fields) == 0 || fields[0] == "#":
		return nil
	case fields[0] == "user":
		p.talks = append(p.talks, Talk{User: fields[1]})
		p.tags = map[string]string{}
		return nil
	case fields[0] == "session":
		p.session = fields[1]
		p.at, err = time.Parse(time.RFC3339, fields[2])
		return err
	}
	talk := &p.talks[len(p.talks)-1]
	if fields[0] == "?" {
		question, tags, _ := strings.Cut(strings.TrimPrefix(text, "? "), " | ")
		q := Question{Text: question}
		for tag := range strings.FieldsSeq(tags) {
			if p.tags[tag] == "" {
				return fmt.Errorf("there is no %q", tag)
			}
			q.Evidence = append(q.Evidence, p.tags[tag])
		}
		talk.Questions = append(talk.Questions, q)
		return nil
	}
	id := "memory_" + uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s/%s/%d", p.name, talk.User, len(talk.Memories))).String()
	if tag, isTag := strings.CutPrefix(fields[0], "@"); isTag {
		p.tags[tag] = id
		text = strings.TrimPrefix(text, fields[0]+" ")
	}
	m := memory.BaseMemory{ID: id, Content: text, Timestamp: p.at, Context: memory.Context{UserID: talk.User, SessionID: p.session}}
	if name, said, ok := strings.Cut(strings.Replace(text, "：", ": ", 1), ": "); ok && len(name) < 20 {
		nameSpeaker(&m, len(p.talks), name, said)
	}
	talk.Memories = append(talk.Memories, m)
	return nil
}

// nameSpeaker sets the speaker of a memory, in one of the ways in which programs do.
func nameSpeaker(m *memory.BaseMemory, way int, name, said string) {
	switch way % 4 {
	case 0:
		m.Content, m.Context.Other = said, value.OfMap(value.Pairs("speaker", name))
	case 1: // in front of the text
	case 2:
		m.Content, m.Context.Other = said, value.OfString(fmt.Sprintf(`{"speaker": %q}`, name))
	case 3:
		m.Content, m.Context.Other = said, value.OfString(name)
	}
}
