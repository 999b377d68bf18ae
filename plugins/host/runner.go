package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/plugins/proto"
)

// maxHandshake is the length of the line by which a plugin says where it listens.
const maxHandshake = 8 << 10

// lifePipe says that a process can be given further files: Windows cannot.
const lifePipe = runtime.GOOS != "windows"

// drainTime is how long what a process wrote is read after its end: a child that
// got away may hold the pipe open.
const drainTime = 200 * time.Millisecond

// runner is one process of a plugin, started in a way that the library's own is
// not: without standard input, with an environment of its own, in a process group
// of its own, and with a pipe that tells it when the host is gone. It is the
// runner.Runner of the library.
type runner struct {
	manifest *Manifest
	program  string // path
	dir      string
	env      []string // what the library wants the process to know
	sockets  string   // the folder of its sockets
	shared   string   // the host's folder of all sockets
	out      *output
	spawn    *spawner
	kept     bool // a keeper starts it
	// check holds the program to what is trusted, before it starts.
	check func() error

	cmd       *exec.Cmd // the process, or its keeper
	keeper    *keeper   // nil where there is none; a watcher is there then
	watcher   *watcher
	life      *os.File // the host's end of the life pipe
	handshake *io.PipeReader
	exited    chan struct{}

	mu      sync.Mutex
	line    string // the first line on standard output
	silent  bool   // standard output ended before that
	started bool
	pid     int    // 0 before the start
	failure error  // why the keeper could not start it
	ended   bool   // the process was waited for: its id may be another's
	end     string // how it ended
	killed  bool
}

// environ is all that the process gets to know.
func (r *runner) environ() []string {
	env := append([]string{proto.MaxMessageKey + "=" + strconv.Itoa(r.manifest.Limits.maxMessage())}, r.env...)
	if lifePipe {
		env = append(env, proto.LifeKey+"=3")
	}
	for _, name := range r.manifest.Env {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Start starts the process.
func (r *runner) Start(context.Context) (err error) {
	var opened []*os.File
	defer func() {
		if err != nil {
			for _, f := range opened {
				_ = f.Close()
			}
		}
	}()
	pipe := func() (reader, writer *os.File) {
		if err != nil {
			return nil, nil
		}
		if reader, writer, err = os.Pipe(); err == nil {
			opened = append(opened, reader, writer)
		}
		return reader, writer
	}
	stdout, stdoutW := pipe()
	stderr, stderrW := pipe()
	lifeR, life := pipe()
	if err != nil {
		return err
	}
	r.cmd = exec.Command(r.program, r.manifest.Args...) //nolint:noctx // it outlives the request that started it
	r.cmd.Dir, r.cmd.Env = r.dir, r.environ()
	r.cmd.Stdout, r.cmd.Stderr = stdoutW, stderrW
	if lifePipe {
		r.cmd.ExtraFiles = []*os.File{lifeR}
	}
	if err = r.begin(); err != nil {
		return err
	}
	_ = errors.Join(stdoutW.Close(), stderrW.Close(), lifeR.Close()) // the process has its own
	r.life = life
	handshake, handshakeW := io.Pipe()
	r.handshake = handshake
	drained := make(chan struct{})
	var pumps sync.WaitGroup
	pumps.Go(func() { _, _ = io.Copy(r.out, stderr) })
	pumps.Go(func() { r.readStdout(stdout, handshakeW) })
	go func() { pumps.Wait(); close(drained) }()
	go r.reap(drained, stdout, stderr)
	return nil
}

// begin checks the program and starts the process, unless it was killed before. A
// keeper gets ready meanwhile.
func (r *runner) begin() (err error) {
	if r.kept {
		if r.keeper, err = keep(r.cmd, r.shared); err != nil {
			return err
		}
		if err = r.spawn.start(r.cmd); err != nil {
			r.keeper.close()
			return err
		}
		defer func() {
			if err != nil {
				_ = r.cmd.Process.Kill()
				_ = r.cmd.Wait()
				r.keeper.close()
			}
		}()
	}
	if err = r.check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return context.Canceled
	}
	r.exited = make(chan struct{})
	if r.kept {
		r.keeper.order()
	} else {
		ownGroup(r.cmd)
		if err = r.spawn.start(r.cmd); err != nil {
			return err
		}
		r.pid = r.cmd.Process.Pid
		r.watcher = watchGroup(r.pid, r.shared)
	}
	r.started = true
	return nil
}

// readStdout hands the first line to the library, and the rest to the log.
func (r *runner) readStdout(stdout io.Reader, handshake *io.PipeWriter) {
	lines := bufio.NewReaderSize(stdout, maxHandshake)
	line, err := lines.ReadSlice('\n')
	r.mu.Lock()
	r.line, r.silent = string(line), errors.Is(err, io.EOF) && !r.killed
	r.mu.Unlock()
	if err == nil {
		go func() { // nobody may be there to read it
			_, _ = handshake.Write(line)
			_ = handshake.Close()
		}()
	} else {
		_ = handshake.Close()
	}
	_, _ = io.Copy(r.out, lines)
}

// reap waits for the end of the process, ends its children, and closes what is
// open.
func (r *runner) reap(drained <-chan struct{}, pipes ...*os.File) {
	end := ""
	if r.kept {
		end = r.awaitKept()
		_ = r.cmd.Process.Kill() // it has nothing more to do
	}
	_ = r.cmd.Wait()
	r.mu.Lock()
	r.ended, r.end = true, end
	if s := r.cmd.ProcessState; s != nil && end == "" {
		r.end = s.String()
	}
	r.mu.Unlock()
	if end == "" && r.pid != 0 { // else nothing of the group is left, and its id may be another's
		killGroup(r.pid)
	}
	r.keeper.close()
	r.watcher.stop()
	select {
	case <-drained:
	case <-time.After(drainTime):
	}
	for _, f := range append(pipes, r.life) {
		_ = f.Close()
	}
	_ = r.handshake.Close()
	<-drained
	close(r.exited)
}

// awaitKept waits for the end of a process that a keeper starts, and says how it ended;
// "" where that is not known.
func (r *runner) awaitKept() string {
	pid, err := r.keeper.started()
	r.mu.Lock()
	r.pid, r.failure = pid, err
	r.mu.Unlock()
	if err != nil {
		return ""
	}
	return r.keeper.ended()
}

// Kill ends the process and its children at once.
func (r *runner) Kill(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || !r.started || r.killed && r.kept {
		r.killed = true
		return nil
	}
	r.killed = true
	if r.kept {
		r.killKept()
		return nil
	}
	killGroup(r.pid)
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// keeperEnd is how long a keeper has to end its plugin; less than forcedEnd.
const keeperEnd = 3 * time.Second

// killKept has the keeper end everything; one that does not, which the plugin may
// have stopped, is killed, and the kernel kills the plugin with it.
func (r *runner) killKept() {
	r.keeper.order()
	go func() {
		select {
		case <-r.exited:
		case <-time.After(keeperEnd):
			_ = r.cmd.Process.Kill()
		}
	}()
}

// Wait waits for the end of the process.
func (r *runner) Wait(context.Context) error {
	<-r.exited
	return nil
}

// Stdout gives the line of the handshake and nothing else.
func (r *runner) Stdout() io.ReadCloser { return r.handshake }

// Stderr is empty: standard error is read here.
func (r *runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the path of the program.
func (r *runner) Name() string { return r.program }

// ID is the id of the process, or of its keeper; "" before the start.
func (r *runner) ID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		return ""
	}
	return strconv.Itoa(r.cmd.Process.Pid)
}

// Diagnose is for messages of the library, which are not shown.
func (r *runner) Diagnose(context.Context) string { return "" }

// PluginToHost leaves an address as it is.
func (r *runner) PluginToHost(network, addr string) (hostNet, hostAddr string, err error) {
	return network, addr, nil
}

// HostToPlugin leaves an address as it is.
func (r *runner) HostToPlugin(network, addr string) (pluginNet, pluginAddr string, err error) {
	return network, addr, nil
}

// firstLine is the first line on standard output, which should be the handshake.
func (r *runner) firstLine() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimSpace(r.line)
}

// status says how the process ended; "" while it runs.
func (r *runner) status() string {
	if r.exited == nil {
		return ""
	}
	select {
	case <-r.exited:
	default:
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end
}

// startFailure words why a process did not become a plugin. err is the library's.
func (r *runner) startFailure(err error, timeout time.Duration) error {
	line := r.firstLine()
	status := r.status()
	r.mu.Lock()
	silent, pid := r.silent, r.pid
	if silent && r.failure != nil { // else it took too long
		err = r.failure
	}
	if r.killed && strings.HasPrefix(status, "signal: killed") {
		status = "" // it did not end by itself
	}
	r.mu.Unlock()
	fields := strings.Split(line, "|")
	var why string
	switch {
	case pid == 0:
		why = fmt.Sprintf("the program %s cannot be started: %s", r.program, unstarted(r.program, err))
	case line != "" && (len(fields) < 4 || fields[0] != "1"):
		why = fmt.Sprintf("it printed %q to standard output instead of the handshake line; print only that there", cut(printable(line), 200))
	case len(fields) > 1 && fields[1] != strconv.Itoa(proto.Version):
		why = fmt.Sprintf("it speaks version %s of the protocol, this program version %d: build one of them anew", cut(printable(fields[1]), 20), proto.Version)
	case line == "" && status != "":
		why = "it ended before the handshake: " + status
	case line == "" && silent:
		why = "it closed standard output before the handshake line"
	case line == "":
		why = fmt.Sprintf("it did not print the handshake line within %s", timeout)
	case status != "":
		why = "it ended after the handshake: " + status
	default:
		why = err.Error()
	}
	return errors.New(why)
}
