package openapi

import (
	"path"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// filesMember is the member of a bundled document that has the files it refers to.
const filesMember = "x-files"

// maxFiles bounds the files that a document refers to.
const maxFiles = 1000

// Bundle returns a document whose references to other files, for example paths/boats.yaml or
// schemas.yaml#/Boat, lead to copies within it, below x-files. read returns a file by its path from
// the folder of the document, with slashes. A reference to a file that read refuses stays as it is,
// and so does one to another server: only operations that need it cannot be used.
func Bundle(doc value.Value, read func(name string) (value.Value, error)) value.Value {
	if !refersToFiles(doc) {
		return doc
	}
	b := &bundler{read: read, members: map[string]string{}, files: value.NewMap(4)}
	bundled := b.rewrite(doc, bundledFile{dir: "."})
	for i := 0; i < b.files.Len(); i++ { // which grows while files refer to others
		member, content := b.files.Entry(i)
		b.files.Set(member, b.rewrite(content, b.places[i]))
	}
	whole := bundled.Map().Clone()
	whole.Set(filesMember, value.OfMap(b.files))
	return value.OfMap(whole)
}

// bundler makes one bundled document.
type bundler struct {
	read func(name string) (value.Value, error)
	// members are the members of files by the paths of the files; "" for a file that cannot be read.
	members map[string]string
	files   *value.Map
	places  []bundledFile // of files, in their order
}

// bundledFile is the place of a file: its folder, and its content as it was read; its member is ""
// for the document itself.
type bundledFile struct {
	dir, member string
	content     value.Value
}

// refersToFiles reports whether a value has a reference to a file.
func refersToFiles(v value.Value) bool {
	for _, item := range v.List() {
		if refersToFiles(item) {
			return true
		}
	}
	for key, member := range v.Map().All() {
		ref, isText := member.Str()
		if isText && key == "$ref" && isFileRef(ref) || !isText && refersToFiles(member) {
			return true
		}
	}
	return false
}

// isFileRef reports whether a reference names a file, and no address.
func isFileRef(ref string) bool {
	return !strings.HasPrefix(ref, "#") && !strings.Contains(ref, "://") && !strings.HasPrefix(ref, "//")
}

// rewrite returns a value of a file with its references changed.
func (b *bundler) rewrite(v value.Value, in bundledFile) value.Value {
	switch v.Kind() {
	case value.List:
		items := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			items[i] = b.rewrite(item, in)
		}
		return value.OfList(items...)
	case value.Object:
		m := value.NewMap(v.Map().Len())
		for key, member := range v.Map().All() {
			if ref, isText := member.Str(); isText && key == "$ref" {
				member = value.OfString(b.rewriteRef(ref, in))
			} else {
				member = b.rewrite(member, in)
			}
			m.Set(key, member)
		}
		return value.OfMap(m)
	}
	return v
}

// rewriteRef returns a reference of a file as one within the bundled document.
func (b *bundler) rewriteRef(ref string, in bundledFile) string {
	name, fragment, _ := strings.Cut(ref, "#")
	if !isFileRef(ref) && name != "" {
		return ref
	}
	if name == "" {
		_, isOwn := in.content.At(pointerOf("#" + fragment))
		if in.member == "" || !isOwn { // some tools mean the document itself by # in any file
			return ref
		}
		return fileRef(in.member, fragment)
	}
	member := b.memberOf(path.Join(in.dir, name))
	if member == "" {
		return ref
	}
	return fileRef(member, fragment)
}

func fileRef(member, fragment string) string {
	return "#/" + filesMember + "/" + value.Escape(member) + strings.TrimSuffix(fragment, "/")
}

// memberOf returns the member that has a file, which is read for it; "" if it cannot be.
func (b *bundler) memberOf(file string) string {
	member, isKnown := b.members[file]
	if isKnown || b.files.Len() >= maxFiles {
		return member
	}
	content, err := b.read(file)
	if err != nil {
		b.members[file] = ""
		return ""
	}
	base := strings.TrimSuffix(path.Base(file), path.Ext(file))
	member = base
	for n := 2; ; n++ {
		if _, taken := b.files.Get(member); !taken {
			break
		}
		member = base + "_" + strconv.Itoa(n)
	}
	b.members[file] = member
	b.files.Set(member, content)
	b.places = append(b.places, bundledFile{path.Dir(file), member, content})
	return member
}
