// Package starter holds the projects that `scheduler init` and `scheduler demo` write: settings,
// a flow with its files and tests, the schemas for editors, and the skill for coding agents.
//
// A template is a folder here, laid over common, for example hello, or a flow of the example flows. Each one
// runs without a key: by the provider echo, or from recorded answers. Its Chinese texts are in a folder with .zh
// at the end, for example hello.zh.
package starter

import (
	"embed"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	examples "github.com/callnode/scheduler"
	"github.com/callnode/scheduler/configs"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/skills"
)

//go:embed all:common all:hello all:chat all:lorebook all:demo desk
//go:embed all:common.zh all:hello.zh all:chat.zh all:demo.zh all:desk.zh
var folders embed.FS

// Template is a project that can be written.
type Template struct {
	// Name is the word after --template, for example chat.
	Name string
	// Summary is the purpose of the flow in one line.
	Summary wording.Text
	// Run are the words of the command that a new user tries first, after the name of the program.
	Run []string

	// folders of this package, and examples, which are flows of the example flows, for example support. A file in a
	// folder replaces the one of the same name in an example.
	folders, examples []string

	// chinese is the same project with Chinese texts.
	chinese *Template
}

// In returns the template with the texts of a language: Chinese, else English.
func (t Template) In(language string) Template {
	if !wording.IsChinese(language) {
		return t
	}
	translated := *t.chinese
	translated.Name, translated.Summary = t.Name, t.Summary
	if translated.Run == nil {
		translated.Run = t.Run
	}
	return translated
}

// Default is the template that is written if none is chosen.
const Default = "hello"

// List returns the templates of scheduler init.
func List() []Template {
	return []Template{
		{
			Name: Default, Summary: wording.Say("one question, one answer"), Run: []string{"run", "flows/hello.yaml", "--explain"},
			folders: []string{common, "hello"}, chinese: &Template{folders: []string{commonChinese, "hello.zh"}},
		},
		{
			Name: "chat", Summary: wording.Say("a chat that remembers its users"), Run: []string{"run", "flows/chat.yaml", "--replay", "--explain"},
			folders: []string{common, "chat"}, chinese: &Template{folders: []string{commonChinese, "chat.zh"}},
		},
		{
			Name: "desk", Summary: wording.Say("a support desk: asks for the order number, looks orders up, refunds"), Run: []string{"run", "flows/support.yaml", "--replay", "--explain"},
			folders: []string{common, "desk"}, examples: []string{"support"},
			chinese: &Template{folders: []string{commonChinese, "desk.zh"}, examples: []string{"support"}},
		},
		{
			Name: "lorebook", Summary: wording.Say("a role play with a lorebook"), Run: []string{"run", "flows/lorebook.yaml", "--replay", "--explain"},
			folders: []string{common, "lorebook"},
			chinese: &Template{Run: []string{"run", "flows/roleplay.yaml", "--replay", "--explain"}, folders: []string{commonChinese}, examples: []string{"roleplay"}},
		},
	}
}

// The folders with the files of every template.
const (
	common        = "common"
	commonChinese = "common.zh"
)

// Demo is the project of scheduler demo: a flow that Run runs from its recorded answers, a chat, and a flow that asks for missing values.
func Demo() Template {
	return Template{
		Name: "demo", Run: []string{"run", "flows/quickstart.yaml", "--replay", "--explain"}, folders: []string{common, "chat", "demo"}, examples: []string{"quickstart"},
		chinese: &Template{
			Run: []string{"run", "flows/roleplay.yaml", "--replay", "--explain"}, folders: []string{commonChinese, "chat.zh", "demo.zh"}, examples: []string{"roleplay"},
		},
	}
}

// Names returns the names of the templates.
func Names() []string {
	var names []string
	for _, t := range List() {
		names = append(names, t.Name)
	}
	return names
}

// Find returns the template of a name; ok is false if there is none.
func Find(name string) (found Template, ok bool) {
	for _, t := range List() {
		if t.Name == name {
			return t, true
		}
	}
	return Template{}, false
}

// File is a file of a new project.
type File struct {
	// Name is its path in the project, with slashes.
	Name    string
	Content []byte
}

// Files returns the files of the project in the order they are written.
func (t Template) Files() ([]File, error) {
	files := []File{{"schemas/flow.schema.json", configs.FlowSchema}, {"schemas/test.schema.json", configs.TestSchema}}
	add := func(source fs.FS, root, folder string, isWanted func(name string) bool) error {
		return fs.WalkDir(source, root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !isWanted(name) {
				return err
			}
			content, err := fs.ReadFile(source, name)
			inside := strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
			if inside == "settings.yaml" { // more settings of the template
				at := slices.IndexFunc(files, func(f File) bool { return f.Name == "scheduler.yaml" })
				files[at].Content = append(files[at].Content, content...)
				return err
			}
			if inside == "gitignore" { // a real .gitignore would hide files of this repository
				inside = ".gitignore"
			}
			name = path.Join(folder, inside)
			if at := slices.IndexFunc(files, func(f File) bool { return f.Name == name }); at >= 0 {
				files[at].Content = content
				return err
			}
			files = append(files, File{name, content})
			return err
		})
	}
	every := func(string) bool { return true }
	var wrong []error
	for _, example := range t.examples {
		isPart := func(name string) bool {
			return strings.HasPrefix(name, "flows/"+example+".") || strings.HasPrefix(name, "flows/"+example+"/")
		}
		wrong = append(wrong, add(examples.Flows, "flows", "flows", isPart))
	}
	for _, folder := range t.folders {
		wrong = append(wrong, add(folders, folder, "", every))
	}
	wrong = append(wrong, add(skills.Files, ".", ".agents/skills", every))
	for i := range files {
		files[i].Content = schemaLine.ReplaceAll(files[i].Content, []byte("${1}schemas/"))
	}
	return files, errors.Join(wrong...)
}

// schemaLine is the line of a flow for editors. The schemas of this repository are in configs, and
// in a project in schemas.
var schemaLine = regexp.MustCompile(`(?m)^(# yaml-language-server: \$schema=(?:\.\./)+)configs/`)
