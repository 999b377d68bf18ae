package context

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/internal/skill"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// defaultBootstrap returns the default of bootstrap_files, BOOTSTRAP_FILES in the documents.
func defaultBootstrap() []string {
	return []string{"AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md"}
}

// maxAgents bounds the AGENTS.md files of work_dir together, in bytes.
const maxAgents = 32 << 10

// bootstrapSection returns the section of the workspace's instruction files:
// _load_bootstrap_files in the documents.
func (b *builder) bootstrapSection() *section {
	s := b.newSection("bootstrap files", "", blankLine, "", 25)
	files, given := b.params.BootstrapFiles, b.params.BootstrapFiles != nil
	if !given {
		files = defaultBootstrap()
	}
	if b.workspace == nil {
		return s
	}
	for _, name := range files {
		if name == "AGENTS.md" && b.params.WorkDir != "" {
			b.quoteAgentsFiles(s)
			continue
		}
		if text, ok := b.readWorkspaceFile("bootstrap file", name, given); ok {
			b.quoteFile(s, name, text, 0)
		}
	}
	return s
}

// quoteFile adds a file under a heading of its name.
func (b *builder) quoteFile(s *section, name string, text calls.Traced, rank int) {
	b.addUnit(s, b.fileUnit("file", name, "## "+name+blankLine, text, rank))
}

// fileUnit returns the unit of a file of the workspace below a title.
func (b *builder) fileUnit(kind, name, title string, text calls.Traced, rank int) *unit {
	all := calls.Traced{Text: title}.Append(text)
	return &unit{kind: kind, name: name, text: all.Text, title: len(title), rank: rank, lines: true, reason: b.env.Say("file of the workspace"), origins: all.Origins}
}

// quoteAgentsFiles adds the AGENTS.md files from the workspace down to the working
// directory: of each directory the first of AGENTS.override.md and AGENTS.md that
// is not blank.
func (b *builder) quoteAgentsFiles(s *section) {
	dir := path.Clean(strings.ReplaceAll(b.params.WorkDir, `\`, "/"))
	if info, err := b.workspace.root.Stat(dir); err != nil || !info.IsDir() {
		b.warn("work_dir %s is not a directory inside the workspace; only the workspace's own AGENTS.md is read", b.params.WorkDir)
		dir = "."
	}
	dirs := []string{"."}
	if dir != "." {
		for i, c := range dir + "/" {
			if c == '/' {
				dirs = append(dirs, dir[:i])
			}
		}
	}
	var found []agentsFile
	for _, d := range dirs {
		for _, name := range []string{"AGENTS.override.md", "AGENTS.md"} {
			name = path.Join(d, name)
			text, ok := b.readWorkspaceFile("bootstrap file", name, false)
			if ok && strings.TrimSpace(text.Text) != "" {
				found = append(found, agentsFile{name, text})
				break
			}
		}
	}
	b.limitAgentsFiles(found)
	for i, f := range found {
		if f.text.Text != "" {
			b.quoteFile(s, f.name, f.text, len(found)-1-i) // the nearest stays the longest
		}
	}
}

// agentsFile is an AGENTS.md of some directory.
type agentsFile struct {
	name string
	text calls.Traced
}

// limitAgentsFiles cuts the files, nearest last, to maxAgents bytes together. The nearest one comes first; a file
// that is too long is cut before a heading.
func (b *builder) limitAgentsFiles(files []agentsFile) {
	left := maxAgents
	for i := len(files) - 1; i >= 0; i-- {
		f := &files[i]
		if len(f.text.Text) > left {
			cut := f.text.Slice(0, llm.CutAt(b.env.Tokens, f.text.Text, len(cutAtHeading(f.text.Text, left))))
			if cut.Text == "" {
				b.warn("bootstrap file %s: left out, the AGENTS.md files nearer to work_dir have %d bytes, at most %d are used", f.name, maxAgents-left, maxAgents)
			} else {
				b.warn("bootstrap file %s: only the first %d of %d bytes are used, the AGENTS.md files together have more than %d", f.name, len(cut.Text), len(f.text.Text), maxAgents)
			}
			f.text = cut
		}
		left -= len(f.text.Text)
	}
}

// cutAtHeading cuts a Markdown text to at most limit bytes: before a heading, else after a line, else between
// characters. It keeps more than half of the bytes that there is room for; with a limit below smallestCut it keeps
// nothing, because so little text says nothing. For example, a text is cut before its heading "## Tests" if that
// is in the second half of the limit.
func cutAtHeading(text string, limit int) string {
	if limit < smallestCut {
		return ""
	}
	head := text[:limit]
	for _, places := range [][][]int{heading.FindAllStringIndex(head, -1), lineEnd.FindAllStringIndex(head, -1)} {
		if n := len(places); n > 0 && places[n-1][0] >= limit/2 {
			return head[:places[n-1][0]+1]
		}
	}
	return strings.ToValidUTF8(head, "")
}

const smallestCut = 256 // bytes

var (
	heading = regexp.MustCompile(`\n#{1,6}[ \t]`)
	lineEnd = regexp.MustCompile(`\n`)
)

// readWorkspaceFile reads a text file of the workspace; a failure becomes a warning.
func (b *builder) readWorkspaceFile(what, name string, wanted bool) (calls.Traced, bool) {
	text, note, err := b.workspace.readText(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !wanted:
		return calls.Traced{}, false
	case err != nil:
		b.warn("%s %s: skipped: %v", wording.Of(what), name, err)
		return calls.Traced{}, false
	case note.En != "":
		b.warn("%s %s: %s", wording.Of(what), name, note)
	}
	return text, true
}

// rootMemory is the file with the long-term memory of an OpenClaw workspace; nanobot keeps it in memory/.
const rootMemory = "MEMORY.md"

// memorySection returns the section of the memory files: lasting knowledge, and the notes of the day. It is
// get_memory_context of the MemoryStore in the documents.
func (b *builder) memorySection() *section {
	s := b.newSection("memory", "# Memory"+blankLine, blankLine, "", 15)
	if b.workspace == nil {
		return s
	}
	known := ""
	for i, f := range []struct{ title, name string }{
		{"## Long-term Memory\n", rootMemory},
		{"## Long-term Memory\n", "memory/MEMORY.md"},
		{"## Today's Notes\n", "memory/" + b.in.Now.Format("2006-01-02") + ".md"},
	} {
		isQuoted := f.name == rootMemory && slices.Contains(b.params.BootstrapFiles, f.name)
		if isQuoted {
			continue
		}
		text, ok := b.readWorkspaceFile("memory file", f.name, false)
		if isCopy := text.Text == known; !ok || isCopy {
			continue
		}
		known = text.Text
		b.addUnit(s, b.fileUnit("memory", f.name, f.title, text, i))
	}
	return s
}

// recalledSection returns the section of the memories that were found for this message.
func (b *builder) recalledSection() *section {
	s := b.newSection("recalled memories", "# Recalled Memories"+blankLine, "\n", "", 5)
	for i, m := range b.params.Memories {
		text, isText := m.Str()
		name, reason, pointer := fmt.Sprint(i), b.env.Say("recalled"), fmt.Sprintf("/memories/%d", i)
		if !isText {
			content, _ := m.Map().First("text", "content")
			id, _ := m.Map().First("memory_id", "id")
			score, _ := m.Map().First("relevance_score", "score")
			text, _ = content.Str()
			pointer += "/" + m.Map().FirstKey("text", "content")
			if id, ok := id.Str(); ok {
				name = id
			}
			if score, ok := score.Float(); ok {
				reason = b.env.Say("recalled, relevance %.2f", score)
			}
		}
		if strings.TrimSpace(text) == "" {
			b.warn("memories[%d]: skipped: it is neither a text nor an object with text or content", i)
			continue
		}
		item, origins := listItem(text, pointer)
		b.addUnit(s, &unit{kind: "recalled", name: name, text: item, reason: reason, origins: origins})
	}
	return s
}

// listItem returns a text as an item of a list, its further lines indented, with the
// origins of its lines.
func listItem(text, pointer string) (item string, origins []calls.Origin) {
	from := strings.Index(text, strings.TrimSpace(text))
	item = "- "
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 {
			item += "\n  "
		}
		origins = append(origins, calls.Origin{Start: len(item), End: len(item) + len(line), Pointer: pointer, From: from})
		item += line
		from += len(line) + 1
	}
	return item, calls.CutOrigins(origins, len(item))
}

// skillSections finds the skills and makes the sections of the loaded ones and of the list. later are the skills
// whose instructions go after the user's words instead.
func (b *builder) skillSections(ctx context.Context) (active, list *section, later []*skill.Skill, err error) {
	active = b.newSection("active skills", "# Active Skills"+blankLine, sectionBreak, "", 20)
	var sources []skill.Source
	if b.workspace != nil {
		for _, dir := range []string{"skills", ".agents/skills"} {
			sources = append(sources, skill.Source{FS: b.workspace.root.FS(), Dir: dir, Shown: path.Join(b.shownPath(b.params.Workspace), dir)})
		}
	}
	if given := b.params.BuiltinSkills; given != "" {
		builtin, err := openDir(b.env.Dir, given)
		if err != nil {
			b.warn("builtin_skills %s: skipped: %v", given, err)
		} else {
			defer builtin.close()
			sources = append(sources, skill.Source{FS: builtin.root.FS(), Dir: ".", Shown: b.shownPath(given)})
		}
	}
	found, warnings, err := skill.Load(ctx, skill.Host{LookPath: exec.LookPath, Getenv: os.Getenv}, sources...)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, text := range warnings {
		b.warn("%s", text)
	}
	later = b.activateSkills(active, found)
	list, err = b.skillListSection(ctx, found)
	return active, list, later, err
}

// activateSkills loads the skills that are always on, then those that the parameters
// name, then those that the message names, each once. The first are
// load_skills_for_context in the documents.
func (b *builder) activateSkills(s *section, found []*skill.Skill) (later []*skill.Skill) {
	loaded := map[*skill.Skill]bool{}
	load := func(x *skill.Skill, asked bool, reason string) {
		if loaded[x] {
			return
		}
		loaded[x] = true
		if asked && !x.Available() {
			b.warn("skill %s: loaded because it was asked for, but it lacks %s", x.Name, strings.Join(x.Missing, ", "))
		}
		u := &unit{kind: "skill", name: x.Name, text: skillText(x), asked: asked, reason: reason, origins: skillOrigins(x)}
		if !asked {
			u.rank = 1
		}
		b.addUnit(s, u)
	}
	byName := make(map[string]*skill.Skill, len(found))
	for _, x := range found {
		byName[x.Name] = x
		if x.Always && x.Available() {
			load(x, false, b.env.Say("always loaded"))
		}
	}
	for _, name := range b.params.SkillNames {
		if x, ok := byName[name]; ok {
			load(x, true, b.env.Say("asked for by %s", "skill_names"))
			continue
		}
		b.warn("skill_names: there is no skill %q%s", name, value.DidYouMeanOrListSuffix(name, skillNames(found)))
	}
	for _, x := range skill.Mentioned(b.in.CurrentMessage, found) {
		if !b.runtimeInMessage() {
			load(x, true, b.env.Say("asked for by %s", "$"+x.Name))
		} else if !loaded[x] {
			loaded[x] = true
			later = append(later, x)
		}
	}
	return later
}

func skillText(x *skill.Skill) string { return "### Skill: " + x.Name + blankLine + x.Instructions() }

// skillOrigins returns the origins of skillText: its body comes from the SKILL.md.
func skillOrigins(x *skill.Skill) []calls.Origin {
	body := calls.TracedFile(x.Location, x.Content).Slice(x.BodyStart, x.BodyStart+len(x.Body))
	return shiftOrigins(body.Origins, len(skillText(x))-len(x.Body))
}

func skillNames(found []*skill.Skill) []string {
	names := make([]string, len(found))
	for i, x := range found {
		names[i] = x.Name
	}
	return names
}

// skillListSection returns the section that lists all skills.
func (b *builder) skillListSection(ctx context.Context, found []*skill.Skill) (*section, error) {
	intro := tracedText{text: b.params.SkillsIntro, origins: calls.FromParam("/skills_intro", b.params.SkillsIntro)}
	if intro.text == "" {
		var err error
		intro, err = b.renderTraced(ctx, "skills", facts{})
		if err != nil {
			return nil, err
		}
	}
	catalog := skill.Nanobot()
	if b.params.SkillsFormat == "agent-skills" {
		catalog = skill.AgentSkills()
	}
	s := b.newSection("list of skills", "# Skills"+blankLine+intro.text+blankLine+catalog.Head, catalog.Join, catalog.Tail, 5)
	s.headOrigins = shiftOrigins(intro.origins, len("# Skills"+blankLine))
	for _, x := range found {
		u := &unit{kind: "skill_entry", name: x.Name, text: catalog.Entry(x), reason: b.env.Say("available")}
		u.origins = []calls.Origin{{End: len(u.text), File: x.Location, Computed: true}}
		if !x.Available() {
			u.reason, u.rank = b.env.Say("not available: lacks %s", strings.Join(x.Missing, ", ")), 1
		}
		if !catalog.Lists(x) {
			u.out = true
			if x.Hidden {
				u.reason, u.code = b.env.Say("left out: hidden by disable-model-invocation"), codeHidden
			}
		}
		b.addUnit(s, u)
	}
	return s, nil
}
