package pgdbtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Server is a private server, which listens on a socket in its folder only. [NewServer] makes
// one for a test, which may stop and start it.
type Server struct {
	programs *programs
	dir      string
	// reaper ends the server and deletes its folder when its standard input is closed, even if the test binary was
	// killed.
	reaper io.WriteCloser
}

// NewServer returns a server that runs until the test ends.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s, err := startServer()
	if err != nil {
		skip(t, err)
	}
	t.Cleanup(func() { _ = s.reaper.Close() })
	return s
}

// NewURL returns the URL of an empty schema of this server.
func (s *Server) NewURL(t testing.TB) string {
	t.Helper()
	name := "s" + strconv.Itoa(os.Getpid())
	execute(t, s.url(), "CREATE SCHEMA IF NOT EXISTS "+name)
	return s.url() + "&search_path=" + name
}

func (s *Server) url() string {
	query := url.Values{"host": {s.dir}, "user": {superuser}}
	return "postgres:///postgres?" + query.Encode()
}

// superuser is the role that tests work as.
const superuser = "scheduler"

// Stop stops the server. The mode immediate is like a crash: nothing is written any more.
func (s *Server) Stop(t testing.TB, mode string) {
	t.Helper()
	if err := s.control("stop", "-m", mode); err != nil {
		t.Fatal(err)
	}
}

// Start starts a server that was stopped, and returns when it takes connections.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) start() error {
	// Commits need not survive a failure of the machine, so the disk is not waited for.
	options := "-c listen_addresses= -c unix_socket_directories=" + s.dir + " -c fsync=off -c max_connections=300 -c autovacuum_naptime=5s"
	return s.control("start", "-l", filepath.Join(s.dir, "log"), "-o", options)
}

func (s *Server) control(command string, args ...string) error {
	args = slices.Concat([]string{"-D", s.data(), "-w", "-t", "60"}, args, []string{command})
	out, err := s.programs.command("pg_ctl", args...).CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("pg_ctl %s: %w\n%s%s", command, err, out, log)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// startServer makes a database cluster and starts its server.
func startServer() (*Server, error) {
	p, err := findPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := p.makeDir()
	if err != nil {
		return nil, err
	}
	s := &Server{programs: p, dir: dir}
	if err := s.startReaper(); err != nil {
		return nil, err
	}
	out, err := p.command("initdb", "-D", s.data(), "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), s.reaper.Close())
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.reaper.Close())
	}
	return s, nil
}

// startReaper starts the process that ends the server. It outlives the test binary.
func (s *Server) startReaper() error {
	reaper := s.programs.wrap("sh", "-c", `trap '' INT TERM HUP; echo; read _; "$1" -D "$2/data" -m immediate stop; rm -rf "$2"`,
		"reaper", s.programs.path("pg_ctl"), s.dir)
	in, err := reaper.StdinPipe()
	if err != nil {
		return err
	}
	out, err := reaper.StdoutPipe()
	if err != nil {
		return err
	}
	if err := reaper.Start(); err != nil {
		return err
	}
	s.reaper = in
	_, err = bufio.NewReader(out).ReadString('\n') // from then on it ignores the signals of a terminal
	return err
}

// programs are the paths of the programs of a Postgres installation.
type programs struct {
	bin string
	// as is the user that they run as; nil is the current one.
	as *user.User
}

func findPrograms() (*programs, error) {
	p := &programs{}
	if path, err := exec.LookPath("pg_ctl"); err == nil {
		p.bin = filepath.Dir(path)
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b string) int { return releaseOf(a) - releaseOf(b) })
	if n := len(found); n > 0 {
		p.bin = found[n-1]
	}
	for _, name := range []string{"initdb", "pg_ctl"} {
		if _, err := os.Stat(p.path(name)); p.bin == "" || err != nil {
			return nil, fmt.Errorf("%s is neither on the PATH nor in /usr/lib/postgresql", name)
		}
	}
	if os.Getuid() == 0 { // which Postgres refuses to run as
		p.as, err = user.Lookup("postgres")
		if err == nil {
			_, err = exec.LookPath("setpriv")
		}
	}
	return p, err
}

// releaseOf returns the number in /usr/lib/postgresql/NUMBER/bin.
func releaseOf(bin string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}
	return n
}

func (p *programs) path(name string) string { return filepath.Join(p.bin, name) }

func (p *programs) command(name string, args ...string) *exec.Cmd {
	return p.wrap(p.path(name), args...)
}

// wrap returns a command that runs as the user of the programs.
func (p *programs) wrap(name string, args ...string) *exec.Cmd {
	if p.as != nil {
		args = slices.Concat([]string{"--reuid=" + p.as.Uid, "--regid=" + p.as.Gid, "--clear-groups", name}, args)
		name = "setpriv"
	}
	c := exec.Command(name, args...) //nolint:noctx // it ends by itself
	c.Dir = "/"
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") })
	return c
}

// makeDir makes the folder of a server. The path of its socket must be short.
func (p *programs) makeDir() (string, error) {
	const longest = 60
	parent := os.TempDir()
	if len(parent) > longest {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "pgdbtest")
	if err != nil || p.as == nil {
		return dir, err
	}
	uid, err := strconv.Atoi(p.as.Uid)
	if err != nil {
		return dir, err
	}
	gid, err := strconv.Atoi(p.as.Gid)
	if err != nil {
		return dir, err
	}
	return dir, os.Chown(dir, uid, gid)
}
