package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/desktop"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/sandbox"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data/trust"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/db/localpg"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// CheckTmux checks that tmux is installed and answers. Nothing works without tmux.
func CheckTmux(ctx context.Context) Finding {
	f := Finding{Name: "tmux", State: FindingMissing, Fix: "understudy doctor --fix", pack: "tmux"}
	version, err := tmux.Check(ctx, "")
	switch {
	case err == nil:
		return OK("tmux", "version %s", version)
	case errors.Is(err, tmux.ErrMissing):
		f.Detail = "tmux is not installed or not in PATH"
	case errors.Is(err, tmux.ErrTooOld):
		f.Detail = fmt.Sprintf("tmux %s is too old, 3.2 or newer is needed", version)
	default: // tmux does not answer: an installation would not mend that
		return Finding{Name: "tmux", State: FindingMissing, Detail: cli.Sentence(err), Fix: "see whether `tmux -V` answers"}
	}
	return f
}

// CheckPostgres looks for the programs of a private PostgreSQL. Nothing works without them.
func CheckPostgres() Finding {
	found, err := localpg.FindBinaries()
	if err == nil {
		return OK("PostgreSQL", "version %s in %s", found.Version, found.Dir)
	}
	if !errors.Is(err, localpg.ErrMissing) { // a program does not answer: an installation would not mend that
		return Finding{Name: "PostgreSQL", State: FindingMissing, Detail: cli.Sentence(err), Fix: "see whether that command answers"}
	}
	return Finding{Name: "PostgreSQL", State: FindingMissing, Detail: withoutHint(err), Fix: "understudy doctor --fix", pack: "postgresql"}
}

// CheckGit looks for git. Without git a handoff works, but the daemon can compare the document's claims about files only
// with the files of the working directory.
func CheckGit(environ []string) Finding {
	if path, err := child.LookPath("git", environ); err == nil {
		return OK("git", "%s", path)
	}
	return Finding{Name: "git", State: FindingWarning, Detail: "not in PATH; handoffs do not know what changed and was committed", Fix: "install git"}
}

// withoutHint drops "run `understudy doctor --fix`" from the end of an error, because the finding names its fix itself.
func withoutHint(err error) string {
	msg := cli.Sentence(err)
	if i := strings.LastIndexAny(msg, ":;"); i > 0 && strings.Contains(msg[i:], "doctor --fix") {
		msg = msg[:i]
	}
	return msg
}

// CheckShared checks that the daemon can write to the shared database.
func CheckShared(ctx context.Context, url string) Finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := db.Probe(ctx, url); err != nil {
		return Finding{Name: "PostgreSQL", State: FindingMissing, Detail: cli.Sentence(err), Fix: "mend that, or correct database_url"}
	}
	return OK("PostgreSQL", "a shared one, by database_url; it takes writes")
}

// CheckData checks the data directory. If it does not exist, CheckData checks the folder in which the daemon would make
// it.
func CheckData(root string, private bool) Finding {
	name := "data directory"
	bad := func(format string, args ...any) Finding {
		return Finding{Name: name, State: FindingMissing, Detail: fmt.Sprintf(format, args...), Fix: "choose another with --data or UNDERSTUDY_DATA"}
	}
	if longest := len(root) + LongestSocket; longest > 103 {
		return bad("the path of %s is %d bytes too long for the sockets in it", root, longest-103)
	}
	there := root
	for {
		info, err := os.Stat(there)
		if err == nil && !info.IsDir() {
			return bad("%s is not a folder", there)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return bad("%s", cli.Sentence(err))
		}
		there = filepath.Dir(there)
	}
	if err := trust.Check(root); err != nil {
		f := bad("%s", err)
		f.Fix = "do that, or choose another with --data or UNDERSTUDY_DATA"
		return f
	}
	if private && os.Geteuid() == 0 && !Passable(there) {
		return bad("PostgreSQL refuses root, and the account that it gets cannot pass through %s", there)
	}
	if there != root {
		return OK(name, "%s, made when the daemon first starts", root)
	}
	return OK(name, "%s", root)
}

// CheckNotifications looks for the desktop that shows the notifications.
func CheckNotifications(s serve.Settings, getenv func(string) string) Finding {
	if !s.Notify.Desktop {
		return OK("notifications", "off by notify.desktop: alerts are in the log")
	}
	if why := desktop.New(true, getenv, "").Absent(); why != "" {
		return Finding{Name: "notifications", State: FindingWarning, Detail: why + "; alerts are in the log", Fix: "run the daemon in your desktop session"}
	}
	return OK("notifications", "on the desktop")
}

// CheckTemplates looks for templates that are broken: no pipeline can be made from them.
func CheckTemplates(root string) Finding {
	f := Finding{Name: "templates", State: FindingWarning, Fix: "correct it"}
	templates, err := personas.OpenTemplates(filepath.Join(root, "pipelines"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return OK(f.Name, "they come when the daemon first starts")
	case err != nil:
		f.Detail = cli.Sentence(err)
		return f
	}
	var broken []string
	for _, t := range templates.List() {
		if t.Problem != "" {
			broken = append(broken, show.ProblemIn(t.File, t.Problem))
		}
	}
	switch len(broken) {
	case 0:
		return OK(f.Name, "%s for `understudy pipeline run`", words.Count(len(templates.List()), "template"))
	case 1:
	default:
		f.Fix = "correct them"
	}
	f.Detail = strings.Join(broken, "; ")
	return f
}

// LongestSocket is the number of bytes that the longest path of a socket adds to the path of the data directory.
const LongestSocket = len("/d/postgres/sock/.s.PGSQL.5432.lock")

// Passable reports whether every account may pass through a folder and those above it.
func Passable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// CheckHookProgram reports which program runs the agents' hooks at every turn.
func CheckHookProgram() Finding {
	f := Finding{Name: "hook program", State: FindingWarning, Fix: "install both programs, in a clone: go install ./cmd/..."}
	own, err := proc.OwnBinary()
	if err == nil {
		var path string
		if path, err = proc.FindHookProgram(own); err == nil {
			return OK(f.Name, "%s, of the same build as this program", path)
		}
	}
	f.Detail = fmt.Sprintf("agents run %s, which takes several times as long to start: %s", own, cli.Sentence(err))
	return f
}

// CheckSandbox reports whether agents can run in sandboxes. Nobody needs to have them.
func CheckSandbox(ctx context.Context) Finding {
	probe := sandbox.Probe()
	out, err := exec.CommandContext(ctx, probe[0], probe[1:]...).CombinedOutput()
	if err != nil {
		why := cmp.Or(words.FirstLine(strings.TrimSpace(string(out)), 200), cli.Sentence(err))
		return OK("sandbox", "none on this machine, `agent start --sandbox` needs bubblewrap (%s)", why)
	}
	return OK("sandbox", "bubblewrap, for `agent start --sandbox`")
}

// CheckDaemon asks the daemon whether it is ready.
func CheckDaemon(ctx context.Context, c *api.Client) Finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	health, err := c.Ready(ctx)
	if err != nil {
		f := Finding{Name: "daemon", State: FindingWarning, Detail: cli.Sentence(err), Fix: "understudy serve"}
		told, ok := errors.AsType[*daemon.Error](err)
		if ok && (strings.HasPrefix(string(told.Code), "database_") || told.Code == daemon.CodeHostWaiting) {
			f.Fix = "it goes on by itself once that is over"
		}
		return f
	}
	if own := build.Version(); health.Version != own {
		return Finding{Name: "daemon", State: FindingWarning, Detail: fmt.Sprintf("the daemon is version %s and this program is %s", health.Version, own), Fix: "stop it and start it again; agents go on"}
	}
	return OK("daemon", "ready, version %s", health.Version)
}

// CheckRuntimes runs the agents' CLIs, and compares their versions with those that can be supervised. A CLI that is not
// installed is worth a warning only if it is Claude Code, or if config.yaml names it.
func CheckRuntimes(ctx context.Context, s serve.Settings) (found []Finding) {
	for _, name := range slices.Sorted(maps.Keys(s.Runtimes)) {
		rt, _ := catalog.For(name)
		command := s.Runtimes[name].Command
		version, err := proc.AskVersion(ctx, command)
		if err != nil && rt != claude.Runtime && slices.Equal(command, rt.Command) {
			continue
		}
		if err != nil {
			found = append(found, Finding{Name: name, State: FindingWarning, Detail: cli.Sentence(err), Fix: "install " + rt.Title + ", or set runtimes." + name + ".command in config.yaml"})
			continue
		}
		if rt.CheckVersion != nil {
			if err := rt.CheckVersion(version); err != nil {
				found = append(found, Finding{Name: name, State: FindingWarning, Detail: cli.Sentence(err), Fix: "update " + rt.Title})
				continue
			}
		}
		found = append(found, checkTried(name, version, rt))
	}
	return found
}

// checkTried compares a CLI's version with those that were tried.
func checkTried(name, version string, rt *runtimes.Runtime) Finding {
	tried, shown := rt.Tried(), words.Terminal(version)
	switch tried.Verdict(version) {
	case runtimes.VersionFails:
		return Finding{Name: name, State: FindingWarning, Detail: fmt.Sprintf("%s fails our tests; tested with %s", shown, tried.Words()), Fix: "install a tested version of " + rt.Title}
	case runtimes.VersionNewer:
		return Finding{Name: name, State: FindingUntried, Detail: fmt.Sprintf("%s, newer than what was tested: %s", shown, tried.Words())}
	}
	if tested := tried.Words(); tested != "" {
		return OK(name, "%s; tested with %s", shown, tested)
	}
	return OK(name, "%s", shown)
}
