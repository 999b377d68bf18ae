package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/callnode/scheduler/llm/value/wording"
)

// The file descriptors that a reaper gets beside the standard ones.
const (
	reaperPluginLifeFD = 3 + iota // the plugin's life pipe
	reaperLifeFD                  // orders of the host; its end means that the host is gone
	reaperReportsFD               // reports to the host
	reaperProgramFD               // the file of the program; see Program
)

// programByFD is the path of the program for a reaper that got its file.
var programByFD = fmt.Sprintf("/proc/self/fd/%d", reaperProgramFD)

// A report of a reaper is a line with one of these words and a text.
const (
	reportStarted = "started" // the plugin's process id
	reportFailed  = "failed"  // why it could not be started
	reportEnded   = "ended"   // how it ended
)

// canReap reports whether a process can become the parent of orphans, and find them.
func canReap() bool {
	_, err := os.Stat(thisProgram)
	return err == nil
}

// thisProgram is the file of this very program, even when its path leads to another by
// now, or nowhere.
const thisProgram = "/proc/self/exe"

// reaper is the host's side of a process that starts a plugin and stays its parent. The
// kernel makes the reaper the parent of all that the plugin starts and leaves behind, whatever process
// group or session it is in, so the reaper can end all of it.
type reaper struct {
	life    *os.File
	reports *bufio.Reader
	files   []*os.File // the reaper's ends, and the one that reports reads from
}

// startThroughReaper rewrites a command to start its reaper, which is this program again:
// see [Reap].
func startThroughReaper(cmd *exec.Cmd, program *Program, sockets string) (*reaper, error) {
	lifeR, life, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reports, reportsW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, lifeR.Close(), life.Close())
	}
	path := cmd.Path
	cmd.ExtraFiles = append(cmd.ExtraFiles, lifeR, reportsW)
	if program != nil && !program.isScript() {
		path = programByFD
		cmd.ExtraFiles = append(cmd.ExtraFiles, program.file)
	}
	cmd.Args = append([]string{os.Args[0], ReaperCommand, sockets, path}, cmd.Args...)
	cmd.Path = thisProgram
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has to outlive the host
	return &reaper{life, bufio.NewReader(reports), []*os.File{lifeR, reportsW, reports}}, nil
}

// sendOrder lets the reaper start the plugin; the second order ends it and all that it
// started.
func (r *reaper) sendOrder() {
	_, _ = r.life.Write([]byte{'\n'}) // a reaper that is gone needs none
}

// awaitStart waits until the reaper has started the plugin, and returns its process id.
func (r *reaper) awaitStart() (pid int, err error) {
	_ = errors.Join(r.files[0].Close(), r.files[1].Close()) // the reaper has its own
	word, text := r.readReport()
	switch word {
	case reportStarted:
		return strconv.Atoi(text)
	case reportFailed:
		return 0, errors.New(text)
	}
	return 0, wording.Errorf("its reaper, which should start it, ended")
}

// awaitEnd waits for the end of the plugin and of all that it started, and returns how it ended; "" if the reaper
// ended without a report.
func (r *reaper) awaitEnd() string {
	if word, text := r.readReport(); word == reportEnded {
		return text
	}
	return ""
}

func (r *reaper) readReport() (word, text string) {
	line, _ := r.reports.ReadString('\n')
	word, text, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	return word, text
}

// close releases the host's side when the reaper has ended or was not started: a running
// one would take the host for gone.
func (r *reaper) close() {
	if r == nil {
		return
	}
	_ = r.life.Close()
	for _, f := range r.files {
		_ = f.Close()
	}
}

// Reap is all that a process does that is started as the reaper of a plugin: the first
// argument of the program is [ReaperCommand], args are those after it. It returns the
// exit code when the plugin and all that it started are gone.
func Reap(args []string) int {
	if len(args) < 3 || !strings.HasPrefix(filepath.Base(args[0]), socketDirPrefix) {
		fmt.Fprintf(os.Stderr, "%s is started by scheduler itself, not by hand\n", ReaperCommand)
		return 2
	}
	runtime.LockOSThread() // the kernel ends the plugin when the thread that started it ends
	for fd := reaperPluginLifeFD; fd <= reaperProgramFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	life, reports := os.NewFile(reaperLifeFD, "life"), os.NewFile(reaperReportsFD, "reports")
	ignoreSignals()
	const setChildSubreaper = 36
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
	sockets, program, argv := args[0], args[1], args[2:]
	orders := readOrders(life)
	code := 0
	if _, wanted := <-orders; wanted {
		code = runPlugin(program, argv, orders, reports)
	}
	for range orders { // the host kills this process, which has nothing more to do, or is gone
	}
	_ = os.RemoveAll(sockets)
	return code
}

// ignoreSignals keeps the signals of a terminal from the reaper: only its host ends it.
func ignoreSignals() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
}

// readOrders returns a channel of the orders that come by the pipe, which is closed when
// the host is gone.
func readOrders(life io.Reader) <-chan struct{} {
	orders := make(chan struct{})
	go func() {
		defer close(orders)
		for order := make([]byte, 1); ; {
			if n, _ := life.Read(order); n == 0 {
				return
			}
			orders <- struct{}{}
		}
	}()
	return orders
}

// runPlugin starts a plugin, kills it when that is ordered or the host is gone, and kills processes that it leaves
// behind when it ends.
func runPlugin(program string, argv []string, orders <-chan struct{}, reports io.Writer) (code int) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, reaperPluginLifeFD},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	closePluginFiles(program)
	if err != nil {
		fmt.Fprintln(reports, reportFailed, err)
		return 1
	}
	fmt.Fprintln(reports, reportStarted, pid)
	for {
		select {
		case _, open := <-orders:
			killGroup(pid)
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have left its group
			if !open {
				orders = nil
			}
		case <-ended:
			if status, gone := waitForChildren(pid); gone {
				killTree()
				fmt.Fprintln(reports, reportEnded, describeStatus(status))
				return 0
			}
		}
	}
}

// closePluginFiles closes the reaper's copies of the plugin's files, so that the host sees
// when the plugin closes them.
func closePluginFiles(program string) {
	_ = syscall.Close(reaperPluginLifeFD)
	if program == programByFD {
		_ = syscall.Close(reaperProgramFD)
	}
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		_, _ = syscall.Close(1), syscall.Close(2)
		return
	}
	_, _ = syscall.Dup3(null, 1, 0), syscall.Dup3(null, 2, 0)
}

// waitForChildren collects the children that ended. gone reports whether the child pid has ended; only then can
// another process have its id.
func waitForChildren(pid int) (status syscall.WaitStatus, gone bool) {
	for {
		var of syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &of, syscall.WNOHANG, nil)
		if ended == pid {
			return of, true
		}
		if ended <= 0 && !errors.Is(err, syscall.EINTR) {
			return of, false
		}
	}
}

// describeStatus returns how a process ended, in the words of [os.ProcessState].
func describeStatus(status syscall.WaitStatus) string {
	if status.Signaled() && status.CoreDump() {
		return fmt.Sprintf("signal: %s (core dumped)", status.Signal())
	}
	if status.Signaled() {
		return fmt.Sprintf("signal: %s", status.Signal())
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
