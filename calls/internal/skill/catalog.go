package skill

import "strings"

// Catalog is how a list of skills is written for the model.
type Catalog struct {
	// Head and Tail enclose the entries, Join separates them.
	Head, Join, Tail string
	// Entry writes one skill.
	Entry func(*Skill) string
	// Lists reports whether a skill is listed at all.
	Lists func(*Skill) bool
}

// Nanobot returns nanobot's form, as build_skills_summary of the documents: skills that cannot be used are listed
// with their missing requirements.
func Nanobot() Catalog {
	return Catalog{
		Head: "<skills>\n", Join: "\n", Tail: "\n</skills>",
		Lists: func(s *Skill) bool { return !s.Hidden },
		Entry: func(s *Skill) string {
			var b strings.Builder
			available := "true"
			if !s.Available() {
				available = "false"
			}
			b.WriteString(`  <skill available="` + available + "\">\n")
			b.WriteString("    <name>" + escape.Replace(s.Name) + "</name>\n")
			b.WriteString("    <description>" + escape.Replace(s.Description) + "</description>\n")
			b.WriteString("    <location>" + escape.Replace(s.Location) + "</location>\n")
			if !s.Available() {
				b.WriteString("    <requires>" + escape.Replace(strings.Join(s.Missing, ", ")) + "</requires>\n")
			}
			b.WriteString("  </skill>")
			return b.String()
		},
	}
}

// AgentSkills returns the form of the Agent Skills standard: skills that cannot be
// used are left out.
func AgentSkills() Catalog {
	return Catalog{
		Head: "<available_skills>\n", Join: "\n", Tail: "\n</available_skills>",
		Lists: func(s *Skill) bool { return !s.Hidden && s.Available() },
		Entry: func(s *Skill) string {
			return "<skill>\n<name>\n" + escape.Replace(s.Name) +
				"\n</name>\n<description>\n" + escape.Replace(s.Description) +
				"\n</description>\n<location>\n" + escape.Replace(s.Location) +
				"\n</location>\n</skill>"
		},
	}
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")
