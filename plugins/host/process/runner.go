package process

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/proto"
)

// maxHandshake bounds the line in which a plugin announces its address.
const maxHandshake = 8 << 10

// hasLifePipe reports whether a process can be given further files: on Windows it cannot.
const hasLifePipe = runtime.GOOS != "windows"

// drainTimeout is how long the output of a process is read after its end: a child that
// escaped may hold the pipe open.
const drainTimeout = 200 * time.Millisecond

// runner starts and waits for one process of a plugin in a way that the library's own runner does not: without
// standard input, with an environment and a process group of its own, and with a pipe that ends when the host is
// gone. It implements runner.Runner of the library, which calls it from several goroutines.
type runner struct {
	config        Config
	mark          string   // the value of markKey
	libraryEnv    []string // the library's additions to the environment
	ownSockets    string   // the folder of the sockets of this process
	out           *Output
	throughReaper bool

	cmd       *exec.Cmd     // the process, or its reaper
	reaper    *reaper       // nil if the process has none; it has a watcher then
	watcher   *groupWatcher // nil if the process has none
	life      *os.File      // the host's end of the life pipe
	handshake *io.PipeReader
	exited    chan struct{}
	refusal   error // why it must not be started; set before Start returns

	mu      sync.Mutex // guards all below
	line    string     // the first line on standard output
	silent  bool       // standard output ended before that line
	started bool
	pid     int    // 0 before the start
	failure error  // why the reaper could not start it
	ended   bool   // the process was waited for: its id may be another's
	end     string // how it ended
	killed  bool
}

// noBytecode keeps Python from writing compiled files beside its sources: these belong to the program, and new
// files would change it.
const noBytecode = "PYTHONDONTWRITEBYTECODE=1"

// markKey is the variable that identifies a plugin's processes after their parents are gone. Its value is another
// one for each start.
const markKey = "SCHEDULER_PLUGIN_MARK"

// environ returns the whole environment of the process.
func (r *runner) environ() []string {
	m := r.config.Manifest
	env := append([]string{proto.MaxMessageKey + "=" + strconv.Itoa(m.Limits.MessageBytes())}, r.libraryEnv...)
	env = append(env, noBytecode, markKey+"="+r.mark)
	if hasLifePipe {
		env = append(env, proto.LifeKey+"=3")
	}
	for _, name := range m.Env {
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
		reader, writer, err = os.Pipe()
		if err == nil {
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
	path, args := r.config.Mirror.commandLine(r.config.Path, r.config.Manifest.Args)
	r.mark = rand.Text()
	r.cmd = &exec.Cmd{Path: path, Args: args, Dir: r.config.Dir, Env: r.environ()} // without a context: it outlives the request that started it
	r.cmd.Stdout, r.cmd.Stderr = stdoutW, stderrW
	if hasLifePipe {
		r.cmd.ExtraFiles = []*os.File{lifeR}
	}
	err = r.startProcess()
	if err != nil {
		return err
	}
	_ = errors.Join(stdoutW.Close(), stderrW.Close(), lifeR.Close()) // the process has its own
	r.life = life
	handshake, handshakeW := io.Pipe()
	r.handshake = handshake
	drained := make(chan struct{})
	var pumps sync.WaitGroup
	pumps.Go(func() { _, _ = io.Copy(r.out, stderr) })
	pumps.Go(func() { r.forwardStdout(stdout, handshakeW) })
	go func() { pumps.Wait(); close(drained) }()
	go r.awaitExit(drained, stdout, stderr)
	return nil
}

// startProcess checks the program and starts the process, unless it was killed before.
// The reaper gets ready meanwhile.
func (r *runner) startProcess() (err error) {
	if r.throughReaper {
		if err := r.startReaper(); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = r.cmd.Process.Kill()
				_ = r.cmd.Wait()
				r.reaper.close()
			}
		}()
	}
	r.refusal = r.check()
	if r.refusal != nil {
		return r.refusal
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return context.Canceled
	}
	r.exited = make(chan struct{})
	if r.throughReaper {
		r.reaper.sendOrder()
	} else if err := r.startInOwnGroupLocked(); err != nil {
		return err
	}
	r.started = true
	return nil
}

// check returns why the program must not be started.
func (r *runner) check() error {
	if r.config.Manifest.Limits.Memory > 0 && !canLimitMemory {
		return wording.Errorf("limits.memory works on Linux only (take it out of plugin.yaml on this system)")
	}
	return r.config.Check()
}

// limitMemory bounds the memory of the process that was just started.
func (r *runner) limitMemory(pid int) {
	if limit := r.config.Manifest.Limits.Memory; limit > 0 {
		limitMemory(pid, uint64(limit))
	}
}

// startReaper starts the reaper, which waits for the order to start the plugin.
func (r *runner) startReaper() (err error) {
	r.reaper, err = startThroughReaper(r.cmd, r.config.Program, r.config.Sockets)
	if err != nil {
		return err
	}
	err = r.config.Spawner.start(r.cmd)
	if err != nil {
		r.reaper.close()
	}
	return err
}

// startInOwnGroupLocked starts the process itself, in a process group of its own.
func (r *runner) startInOwnGroupLocked() error {
	setOwnGroup(r.cmd)
	r.cmd.Path = r.config.Program.execPath(r.cmd.Path)
	if err := r.config.Spawner.start(r.cmd); err != nil {
		return err
	}
	r.pid = r.cmd.Process.Pid
	r.limitMemory(r.pid)
	r.watcher = watchGroup(r.pid, r.config.Sockets)
	return nil
}

// forwardStdout passes the first line to the library, and the rest to the log.
func (r *runner) forwardStdout(stdout io.Reader, handshake *io.PipeWriter) {
	lines := bufio.NewReaderSize(stdout, maxHandshake)
	line, err := lines.ReadSlice('\n')
	r.mu.Lock()
	r.line, r.silent = string(line), errors.Is(err, io.EOF) && !r.killed
	r.mu.Unlock()
	if err == nil {
		go func() { // the library may have given up reading
			_, _ = handshake.Write(line)
			_ = handshake.Close()
		}()
	} else {
		_ = handshake.Close()
	}
	_, _ = io.Copy(r.out, lines)
}

// awaitExit waits for the end of the process, ends its children, and closes everything that is open.
func (r *runner) awaitExit(drained <-chan struct{}, pipes ...*os.File) {
	end := ""
	if r.throughReaper {
		end = r.awaitReaped()
		_ = r.cmd.Process.Kill() // the reaper has nothing more to do
	}
	_ = r.cmd.Wait()
	r.mu.Lock()
	r.ended, r.end = true, end
	if s := r.cmd.ProcessState; s != nil && end == "" {
		r.end = s.String()
	}
	r.mu.Unlock()
	if end == "" && r.pid != 0 { // else the group is gone, and its id may be another's
		killGroup(r.pid)
		if r.throughReaper {
			killMarked(markKey + "=" + r.mark) // the plugin may have killed its reaper
		}
	}
	r.reaper.close()
	r.watcher.stop()
	select {
	case <-drained:
	case <-time.After(drainTimeout):
	}
	for _, f := range append(pipes, r.life) {
		_ = f.Close()
	}
	_ = r.handshake.Close()
	<-drained
	r.config.Mirror.Remove()
	close(r.exited)
}

// awaitReaped waits for the end of a process that a reaper starts, and returns how it ended; "" if that is not
// known.
func (r *runner) awaitReaped() string {
	pid, err := r.reaper.awaitStart()
	r.mu.Lock()
	r.pid, r.failure = pid, err
	r.mu.Unlock()
	if err != nil {
		return ""
	}
	r.limitMemory(pid)
	return r.reaper.awaitEnd()
}

// Kill ends the process and its children at once.
func (r *runner) Kill(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	killedBefore := r.killed
	r.killed = true
	if r.ended || !r.started {
		return nil
	}
	if r.throughReaper {
		if !killedBefore {
			r.killThroughReaper()
		}
		return nil
	}
	killGroup(r.pid)
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// killThroughReaper orders the reaper to end everything. A reaper that does not, because
// the plugin stopped it, is killed, and the kernel kills the plugin with it.
func (r *runner) killThroughReaper() {
	r.reaper.sendOrder()
	go func() {
		select {
		case <-r.exited:
		case <-time.After(reaperTimeout):
			_ = r.cmd.Process.Kill()
		}
	}()
}

// Wait waits for the end of the process.
func (r *runner) Wait(context.Context) error {
	<-r.exited
	return nil
}

// Stdout returns the handshake line and nothing else.
func (r *runner) Stdout() io.ReadCloser { return r.handshake }

// Stderr is empty: standard error is read here.
func (r *runner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the path of the program.
func (r *runner) Name() string { return r.config.Path }

// ID returns the id of the process, or of its reaper; "" before the start.
func (r *runner) ID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		return ""
	}
	return strconv.Itoa(r.cmd.Process.Pid)
}

// Diagnose returns nothing: it is for messages of the library, which are not shown.
func (r *runner) Diagnose(context.Context) string { return "" }

// PluginToHost returns an address unchanged: both run on one machine.
func (r *runner) PluginToHost(network, addr string) (hostNet, hostAddr string, err error) {
	return network, addr, nil
}

// HostToPlugin returns an address unchanged.
func (r *runner) HostToPlugin(network, addr string) (pluginNet, pluginAddr string, err error) {
	return network, addr, nil
}

// firstLine returns the first line on standard output, which should be the handshake.
func (r *runner) firstLine() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimSpace(r.line)
}

// status returns how the process ended; "" while it runs.
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
