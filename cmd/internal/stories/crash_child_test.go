package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/db/dbtest"
)

// crashDaemon is what the test tells a daemon in a child process.
type crashDaemon struct {
	Root     string
	Settings serve.Settings
	Environ  []string
	Binary   string
	Hook     string

	Walk  string   // the file with the points of a walk; "": nothing kills the daemon
	Calls []string // the kinds of calls that are points; none: all kinds
	Arm   string   // bomb.armedBy
}

// crashServe is the child process. It kills itself at the first point that its walk has not reached before.
func crashServe(args []string) int {
	var c crashDaemon
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	cfg := serve.Config{
		Root: c.Root, Settings: c.Settings, Environ: c.Environ, Binary: c.Binary, HookBinary: c.Hook,
		Getenv: func(string) string { return "" }, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Ready: func(*serve.Serving) { fmt.Println("ready") },
	}
	if c.Walk != "" {
		been := pointsIn(c.Walk)
		line := func(at crashPoint, what string) string {
			return fmt.Sprintf("%s %s %.120q", at.Call, whether(at.After), what)
		}
		b := &bomb{armedBy: c.Arm, armed: len(been) > 0, calls: map[string]int{}, fatal: true}
		b.due = func(at crashPoint, what string) bool {
			return (len(c.Calls) == 0 || slices.Contains(c.Calls, at.Call)) && !slices.Contains(been, line(at, what))
		}
		b.act = func(at crashPoint, what string) {
			appendLine(c.Walk, line(at, what))
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // The signal is on its way.
		}
		cfg.Around = b.around
	}
	fmt.Fprintln(os.Stderr, serve.Run(context.Background(), cfg))
	return 1
}

// pointsIn lists the points in a walk's file.
func pointsIn(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil { // There is no file yet.
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func appendLine(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
	}
	if err != nil {
		panic(err)
	}
	_ = f.Close()
}

// daemonChild is a daemon in a process of its own.
type daemonChild struct {
	cmd  *exec.Cmd
	log  strings.Builder // read it only when the daemon is dead
	up   bool            // It has answered once.
	dead chan struct{}   // closed when it has ended
}

// startDaemonChild starts a daemon and waits until it answers.
func startDaemonChild(r *rig) *daemonChild {
	r.t.Helper()
	c := launchDaemon(r, crashDaemon{})
	if !c.up {
		<-c.dead
		r.t.Fatalf("daemon did not come up:\n%s", &c.log)
	}
	return c
}

// launchDaemon starts a daemon and waits until it answers or ends.
func launchDaemon(r *rig, told crashDaemon) *daemonChild {
	r.t.Helper()
	told.Root, told.Settings, told.Environ, told.Binary, told.Hook = r.root, r.cfg.Settings, r.cfg.Environ, r.cfg.Binary, r.cfg.HookBinary
	arg := value(json.Marshal(told))(r.t)
	own := value(os.Executable())(r.t) // No other program knows this command.
	c := &daemonChild{cmd: exec.Command(own, "crash-serve", string(arg)), dead: make(chan struct{})}
	c.cmd.Stderr = &c.log
	out := value(c.cmd.StdoutPipe())(r.t)
	must(r.t, c.cmd.Start())
	_, err := out.Read(make([]byte, len("ready\n")))
	c.up = err == nil
	go func() {
		_ = c.cmd.Wait() // Its error is only the signal.
		close(c.dead)
	}()
	r.t.Cleanup(func() {
		c.kill()
		if r.t.Failed() {
			r.t.Logf("daemon %d:\n%s", c.cmd.Process.Pid, &c.log)
		}
	})
	return c
}

// kill sends the daemon SIGKILL, if it runs.
func (c *daemonChild) kill() {
	_ = c.cmd.Process.Kill()
	<-c.dead
}

// walk is a flow in which a daemon is killed at every point in turn, before and after the call. Each daemon dies at
// the first point at which none has died before, and the next daemon goes on with the flow.
type walk struct {
	r    *rig
	told crashDaemon
	now  *daemonChild
	been int // the number of points so far
}

// startWalk starts the first daemon. Calls count from the commit of an event of the type armedBy; "" stands for the
// request of a handoff. calls are the kinds of calls that are points; none means all. Each daemon takes over the idle
// database sessions of the previous one, because to begin them costs as much as everything else that it does.
func startWalk(r *rig, armedBy string, calls ...string) *walk {
	r.t.Helper()
	w := &walk{r: r, told: crashDaemon{Walk: filepath.Join(filepath.Dir(r.root), "walk"), Arm: armedBy, Calls: calls}}
	r.cfg.Settings.DatabaseURL = dbtest.With(dbtest.NewRelay(r.t, r.cfg.Settings.DatabaseURL).ConnString(), "pool_max_conns", "2")
	w.now = launchDaemon(r, w.told)
	return w
}

// until waits for the end of the flow, over all daemons.
func (w *walk) until(what string, over func() (bool, string)) {
	w.r.t.Helper()
	for died := true; died; {
		w.r.await(what, func() (bool, string) {
			select {
			case <-w.now.dead:
				died = true
				return true, ""
			default:
				died = false
				return over()
			}
		})
		if died {
			w.next()
		}
	}
}

// next starts the next daemon. If the last one died anywhere but at a point, next fails the test.
func (w *walk) next() {
	w.r.t.Helper()
	been := pointsIn(w.told.Walk)
	if len(been) != w.been+1 {
		w.r.t.Fatalf("a daemon ended by itself, after these points:\n%s\n%s", strings.Join(been, "\n"), &w.now.log)
	}
	w.been = len(been)
	w.now = launchDaemon(w.r, w.told)
}

// end lets an ordinary daemon go on. It fails unless the walk reached at least so many points of each kind.
func (w *walk) end(least map[string]int) {
	w.r.t.Helper()
	w.now.kill()
	startDaemonChild(w.r)
	been := pointsIn(w.told.Walk)
	got := map[string]int{}
	for _, line := range been {
		if kind, rest, _ := strings.Cut(line, " "); strings.HasPrefix(rest, "before") {
			got[kind]++
		}
	}
	for kind, n := range least {
		if got[kind] < n {
			w.r.t.Errorf("killed before %d calls of the kind %s, want %d at least", got[kind], kind, n)
		}
	}
	w.r.t.Logf("%d daemons were killed:\n%s", len(been), strings.Join(been, "\n"))
}
