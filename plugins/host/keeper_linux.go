package host

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
	"time"
)

// The files that a keeper gets beside the standard ones: the plugin's life pipe, its
// own, whose end means that the host is gone or wants the plugin to go, and where it
// reports to.
const (
	keeperPluginLife = 3 + iota
	keeperLife
	keeperReports
)

// What a keeper reports: a word and a text on a line.
const (
	reportStarted = "started" // the plugin's process id
	reportFailed  = "failed"  // why it could not be started
	reportEnded   = "ended"   // how it ended
)

// canKeep says that a process can be made the parent of orphans, and can find them.
func canKeep() bool {
	_, err := os.Stat(thisProgram)
	return err == nil
}

// thisProgram is the file of this very program, also when its path leads to another
// by now, or nowhere.
const thisProgram = "/proc/self/exe"

// keeper is the host's side of a process that starts a plugin and stays its parent.
// What a plugin starts and leaves behind, the kernel gives to the keeper, in whatever
// group or session it is: so the keeper can end all of it.
type keeper struct {
	life    *os.File
	reports *bufio.Reader
	files   []*os.File // the keeper's ends, and the one reports reads from
}

// keep makes of a command the one of its keeper, which is this program again: see
// [Keep].
func keep(cmd *exec.Cmd, sockets string) (*keeper, error) {
	lifeR, life, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reports, reportsW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, lifeR.Close(), life.Close())
	}
	cmd.Args = append([]string{os.Args[0], KeeperCommand, sockets, cmd.Path}, cmd.Args...)
	cmd.Path = thisProgram
	cmd.ExtraFiles = append(cmd.ExtraFiles, lifeR, reportsW)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has to outlive the host
	return &keeper{life, bufio.NewReader(reports), []*os.File{lifeR, reportsW, reports}}, nil
}

// order has the keeper start the plugin; the second time, end it and all that it
// started.
func (k *keeper) order() {
	_, _ = k.life.Write([]byte{'\n'}) // a keeper that is gone needs none
}

// started waits until the keeper has started the plugin, and gives its process id.
func (k *keeper) started() (pid int, err error) {
	_ = errors.Join(k.files[0].Close(), k.files[1].Close()) // the keeper has its own
	word, text := k.report()
	switch word {
	case reportStarted:
		return strconv.Atoi(text)
	case reportFailed:
		return 0, errors.New(text)
	}
	return 0, errors.New("the process that should start it ended")
}

// ended waits for the end of the plugin and of all that it started, and says how it
// ended; "" where the keeper ended without saying so.
func (k *keeper) ended() string {
	if word, text := k.report(); word == reportEnded {
		return text
	}
	return ""
}

func (k *keeper) report() (word, text string) {
	line, _ := k.reports.ReadString('\n')
	word, text, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	return word, text
}

// close is for the end of the keeper, which would take the host for gone, and for one
// that was not started.
func (k *keeper) close() {
	if k == nil {
		return
	}
	_ = k.life.Close()
	for _, f := range k.files {
		_ = f.Close()
	}
}

// Keep is what a program does that was started as the keeper of a plugin: when its
// first argument is [KeeperCommand], args are those after it. It gives the exit code
// when the plugin and all that it started are gone.
func Keep(args []string) int {
	if len(args) < 3 || !strings.HasPrefix(filepath.Base(args[0]), socketPrefix) {
		fmt.Fprintf(os.Stderr, "%s is for the program itself\n", KeeperCommand)
		return 2
	}
	runtime.LockOSThread() // the kernel ends the plugin when the thread that started it ends
	for fd := keeperPluginLife; fd <= keeperReports; fd++ {
		syscall.CloseOnExec(fd)
	}
	life, reports := os.NewFile(keeperLife, "life"), os.NewFile(keeperReports, "reports")
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE) // only the host ends it
	const setChildSubreaper = 36
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
	sockets, program, argv := args[0], args[1], args[2:]
	orders := make(chan struct{})
	go func() {
		for n := 1; n == 1; {
			if n, _ = life.Read(make([]byte, 1)); n == 1 {
				orders <- struct{}{}
			}
		}
		close(orders)
	}()
	code := 0
	if _, wanted := <-orders; wanted {
		code = keepOne(program, argv, orders, reports)
	}
	for range orders { // the host kills this process, which has nothing more to do, or is gone
	}
	_ = os.RemoveAll(sockets)
	return code
}

// keepOne starts a plugin, ends it when it is ordered to or the host is gone, and when
// it ended whatever it left.
func keepOne(program string, argv []string, orders <-chan struct{}, reports io.Writer) (code int) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, keeperPluginLife},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	letGo()
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
			if status, gone := reap(pid); gone {
				endChildren()
				fmt.Fprintln(reports, reportEnded, statusWords(status))
				return 0
			}
		}
	}
}

// letGo closes what is the plugin's alone: the host sees when that closes it.
func letGo() {
	_ = syscall.Close(keeperPluginLife)
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		_, _ = syscall.Close(1), syscall.Close(2)
		return
	}
	_, _ = syscall.Dup3(null, 1, 0), syscall.Dup3(null, 2, 0)
}

// reap takes leave of the children that ended. gone says that the one of that id did;
// only then can its id be another's.
func reap(pid int) (status syscall.WaitStatus, gone bool) {
	for {
		var of syscall.WaitStatus
		switch got, err := syscall.Wait4(-1, &of, syscall.WNOHANG, nil); {
		case got == pid:
			return of, true
		case got <= 0 && !errors.Is(err, syscall.EINTR):
			return of, false
		}
	}
}

// endChildren kills the children of this process and waits for them, whose children
// become its own then, until there are none.
func endChildren() {
	for end := time.Now().Add(forcedEnd); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return
			}
			if pid <= 0 {
				break
			}
		}
		for _, pid := range children() {
			killGroup(pid) // where it leads one, that has no time to fork
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// children are the processes whose parent is this one.
func children() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	self := strconv.Itoa(os.Getpid())
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it ended
		}
		// PID (NAME) STATE PARENT ..., and the name may hold anything.
		end := strings.LastIndex(string(stat), ") ")
		fields := strings.Fields(string(stat[end+1:]))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && len(fields) > 1 && fields[1] == self {
			pids = append(pids, pid)
		}
	}
	return pids
}

// statusWords says how a process ended, as [os.ProcessState] does.
func statusWords(status syscall.WaitStatus) string {
	switch {
	case status.Signaled() && status.CoreDump():
		return fmt.Sprintf("signal: %s (core dumped)", status.Signal())
	case status.Signaled():
		return fmt.Sprintf("signal: %s", status.Signal())
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
