// Package config is the settings of the program: the defaults, the settings file over
// them and the environment over both, with the place of every error, for example scheduler.yaml:3:5.
package config

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// Settings holds the program's settings; configs/scheduler.yaml documents each of them. [Load] makes it. It does
// not change afterwards, so all parts of a process may share it.
type Settings struct {
	Language string `json:"language,omitempty"`
	// Timezone is the zone of the clock, a name of the IANA database; "" is the machine's.
	Timezone string `json:"timezone,omitempty"`
	// Users has the settings of single users.
	Users    []User `json:"users,omitempty"`
	StateDir string `json:"state_dir,omitempty" min:"1"`
	// Store is the URL of the Postgres database that has the journal and the memory; "" keeps
	// them in the state directory. It may hold a password: no message shows it. [Load] takes it from the variable
	// StoreEnv if that is set.
	Store     string  `json:"store,omitempty"`
	StoreEnv  string  `json:"store_env,omitempty"`
	Journal   Journal `json:"journal,omitempty"`
	Languages string  `json:"languages,omitempty"`
	// CancelWords are the messages with which a user cancels a run that waits.
	CancelWords []string `json:"cancel_words,omitempty"`
	Secrets     []string `json:"secrets,omitempty"`
	LLM         LLM      `json:"llm,omitempty"`
	Media       []string `json:"media_roots,omitempty"`
	HTTP        HTTP     `json:"http,omitempty"`
	Run         Run      `json:"run,omitempty"`
	Plugins     Plugins  `json:"plugins,omitempty"`
	MCP         MCP      `json:"mcp,omitempty"`
	// Approvals are the uses of calls that a person approves in every flow.
	Approvals []Approval `json:"approvals,omitempty"`
	Memory    Memory     `json:"memory,omitempty"`
	Serve     Serve      `json:"serve,omitempty"`
	// On selects the place that carries out runs: "" or local, or temporal://HOST:PORT.
	On       string   `json:"on,omitempty"`
	Temporal Temporal `json:"temporal,omitempty"`
	Worker   Worker   `json:"worker,omitempty"`

	// Root is the directory of the project: the nearest one, from the working directory
	// upward, with a settings file or a state directory. "" is the working directory.
	Root string `json:"-"`

	file *settingsFile // the file that was read; nil for none
}

// Approval is one of approvals: a person approves uses of the calls whose names match Call, for example mcp.files.*.
type Approval struct {
	Call string `json:"call" min:"1"`
	When string `json:"when,omitempty"`
	By   string `json:"by,omitempty" enum:"operator|user"`
}

// CallApprovals returns the approvals as the engine takes them.
func (c *Settings) CallApprovals() ([]flow.CallApproval, error) {
	var all []flow.CallApproval
	for i, a := range c.Approvals {
		made, err := flow.ParseCallApproval(a.Call, a.When, a.By)
		if err != nil {
			return nil, wrongSetting("approvals["+strconv.Itoa(i)+"]", "%w", err)
		}
		all = append(all, made)
	}
	return all, nil
}

// User is a person whose memories and runs have that name.
type User struct {
	Name string `json:"name" min:"1"`
	// Timezone is the zone of the user's days, a name of the IANA database; "" is the zone of the settings.
	Timezone string `json:"timezone,omitempty"`
}

// checkZones finds unknown time zones, and users listed twice.
func (c *Settings) checkZones() error {
	if err := checkZone("timezone", c.Timezone); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, user := range c.Users {
		at := "users[" + strconv.Itoa(i) + "]"
		if seen[user.Name] {
			return wrongSetting(at+".name", "the user %q is there twice", user.Name)
		}
		seen[user.Name] = true
		if err := checkZone(at+".timezone", user.Timezone); err != nil {
			return err
		}
	}
	return nil
}

func checkZone(setting, name string) error {
	if _, err := time.LoadLocation(name); err != nil {
		return wrongSetting(setting, "unknown time zone %q (write a name of the IANA database, such as Asia/Shanghai, Europe/Berlin or UTC)", name)
	}
	return nil
}

// ZoneOf returns the time zone of a user, nil if none is known.
func (c *Settings) ZoneOf(user string) *time.Location {
	for _, known := range c.Users {
		if known.Name == user && known.Timezone != "" {
			zone, _ := time.LoadLocation(known.Timezone) // checked when the settings were read
			return zone
		}
	}
	return nil
}

// HTTP lists the addresses that the call http may reach besides the public Internet.
type HTTP struct {
	AllowHosts []string `json:"allow_hosts,omitempty"`
}

// Run limits the steps of a run at once and in all, the outputs that it holds, and the wait for cancelled steps.
type Run struct {
	MaxParallel    int            `json:"max_parallel,omitempty" min:"1"`
	MaxSteps       int            `json:"max_steps,omitempty" min:"1"`
	MaxOutputBytes ByteSize       `json:"max_output_bytes,omitempty"`
	CancelGrace    value.Duration `json:"cancel_grace,omitempty"`
}

// Plugins configures the folders of plugins and the lock file of the trusted ones.
type Plugins struct {
	Folders  []string `json:"folders,omitempty"`
	Paths    []string `json:"paths,omitempty"`
	LockFile string   `json:"lock_file,omitempty" min:"1"`
	Log      string   `json:"log,omitempty" enum:"debug|info|warn|error"`
	AutoMTLS bool     `json:"auto_mtls,omitempty"`
}

// File returns the path of the settings file that was read; "" if there was none.
func (c *Settings) File() string { return c.file.filePath() }

// DefaultLanguage returns the setting, else the language of LANG, else en.
func (c *Settings) DefaultLanguage() string {
	if c.Language != "" {
		return c.Language
	}
	locale, _, _ := strings.Cut(os.Getenv("LANG"), ".") // zh_CN.UTF-8
	known := c.FurtherLanguages().Names()
	for _, name := range calls.WithoutRegion(locale) {
		if slices.Contains(known, name) {
			return name
		}
	}
	return "en"
}

// KnownLanguages returns the languages that have texts.
func (c *Settings) KnownLanguages() *flow.Languages {
	l := c.FurtherLanguages()
	l.Default = c.DefaultLanguage()
	return l
}

// FurtherLanguages returns the languages that the setting languages adds to the built-in ones.
func (c *Settings) FurtherLanguages() *flow.Languages {
	l := &flow.Languages{Dir: c.Languages}
	if c.Languages != "" {
		l.Files = os.DirFS(c.Languages)
	}
	return l
}

// configSchema returns the schema of the settings. A provider's settings depend on its type; [ProviderType] checks
// them.
func configSchema() *schema.Schema { return schema.MustFor[Settings]() }
