package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// Command returns the command `understudy service`.
func Command(a *cli.App) *cobra.Command {
	var dryRun bool
	var asked []string
	install := &cobra.Command{
		Use:   "install",
		Short: "Have the machine run the daemon, now and after each start",
		Long: `Have the machine run the daemon, now and after each start: as a systemd user unit, or as a launchd
agent on macOS. For root it is a service of the machine, and its agents run as root. The service
uses the data directory of this command. Its agents go on when the service stops.

The service and its agents get this command's PATH, locale and proxies. --env passes on other
variables; settings belong into config.yaml. Run install again after a change.`,
		Example: `  understudy service install --dry-run
  understudy service install
  understudy service install --env ANTHROPIC_BASE_URL --data ~/work/understudy`,
		RunE: func(c *cobra.Command, _ []string) error {
			s, left, err := serviceOf(a, os.Environ(), asked)
			if err != nil {
				return err
			}
			r := &serviceRun{app: a, service: s, environ: os.Environ(), dryRun: dryRun}
			return r.install(c.Context(), left)
		},
	}
	install.Flags().StringSliceVar(&asked, "env", nil, "pass on these `variables` as well, separated by commas")
	cli.CompleteFlag(install, "env", cobra.NoFileCompletions)
	uninstall := &cobra.Command{
		Use:     "uninstall",
		Short:   "Stop the service and remove its file; its agents go on",
		Example: "  understudy service uninstall",
		RunE: func(c *cobra.Command, _ []string) error {
			s, _, err := serviceOf(a, os.Environ(), nil)
			if err != nil {
				return err
			}
			r := &serviceRun{app: a, service: s, environ: os.Environ(), dryRun: dryRun}
			return r.uninstall(c.Context())
		},
	}
	for _, c := range []*cobra.Command{install, uninstall} {
		c.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "show the file and the commands, and change nothing")
	}
	status := a.WithJSON(&cobra.Command{
		Use:     "status",
		Short:   "Say whether the service is installed, and whether it runs",
		Example: "  understudy service status",
		RunE: func(c *cobra.Command, _ []string) error {
			s, _, err := serviceOf(a, os.Environ(), nil)
			if err != nil {
				return err
			}
			return (&serviceRun{app: a, service: s, environ: os.Environ()}).status(c.Context())
		},
	})
	return cli.Group("service", "Have the machine run the daemon (systemd, launchd)", install, uninstall, status)
}

// serviceOf describes the daemon of the data directory to this machine's init. left names the variables that the service
// does not get, although a person may expect that it gets them.
func serviceOf(a *cli.App, environ, asked []string) (s *service, left []string, err error) {
	spec := serviceSpec{goos: runtime.GOOS, uid: os.Geteuid(), getenv: a.Getenv}
	if spec.root, err = a.DataRoot(); err != nil {
		return nil, nil, err
	}
	if spec.binary, err = serviceBinary(a.Getenv("PATH")); err != nil {
		return nil, nil, err
	}
	if spec.env, spec.asked, left, err = serviceEnv(environ, asked); err != nil {
		return nil, nil, err
	}
	s, err = newService(spec)
	return s, left, err
}

// serviceRun is one run of a subcommand of `understudy service`.
type serviceRun struct {
	app     *cli.App
	service *service
	environ []string
	dryRun  bool
}

func (r *serviceRun) install(ctx context.Context, left []string) error {
	s, u := r.service, r.app.UI(r.app.Stdout)
	state, root, err := s.state()
	switch {
	case err != nil:
		return err
	case state == serviceForeign:
		return s.errForeign()
	case root != "" && root != s.root:
		return s.errAnother(root)
	}
	running := r.run(ctx, s.active) == nil
	if !running && r.answers(ctx) {
		return errors.New("a daemon runs on the data directory already: stop it, and run this again; its agents go on")
	}
	commands := s.start
	switch {
	case running && state == serviceSame:
		commands = s.keep
	case running:
		commands = s.renew
	}
	if r.dryRun {
		u.Printf("%s:\n", s.path)
		u.Block(s.content)
		if s.secrets != "" {
			u.Printf("%s: the variables that --env names\n", data.At(s.root).ServiceEnv())
		}
		r.printCommands("then", commands)
		u.Printf("nothing was changed\n")
		return nil
	}
	if state != serviceSame {
		if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
			return fmt.Errorf("service: %w", err)
		}
		if err := s.keepSecrets(); err != nil {
			return err
		}
		if err := data.WriteFile(s.path, []byte(s.content), 0o600); err != nil {
			return fmt.Errorf("service: %w", err)
		}
		if s.secrets == "" { // the file before may have named it
			if err := dropSecrets(s.root); err != nil {
				return fmt.Errorf("service: %w", err)
			}
		}
		u.Printf("written    %s\n", s.path)
	} else {
		u.Printf("unchanged  %s\n", s.path)
	}
	if err := r.runAll(ctx, commands); err != nil {
		return err
	}
	if err := r.await(ctx); err != nil {
		return err
	}
	if running && state == serviceSame {
		u.Printf("the service is installed already, and runs\n")
	} else {
		u.Printf("the service runs, and starts with the machine\n")
	}
	r.advise(u, left)
	return nil
}

// advise prints what a person may want to do after the installation.
func (r *serviceRun) advise(u *term.UI, left []string) {
	if r.service.lingers != "" {
		u.Printf("%s\n", u.Hang("the service ends when you log out and starts when you log in, unless you run `"+r.service.lingers+"`"))
	}
	if len(left) > 0 {
		u.Printf("%s\n", u.Hang(fmt.Sprintf("the service does not get these variables: %s: settings belong into config.yaml, "+
			"and --env passes on what agents need", strings.Join(left, " "))))
	}
	if os.Geteuid() == 0 && r.app.Getenv("SUDO_USER") != "" {
		u.Printf("%s\n", u.Hang("the agents of this service run as root: for a service of your own, run this without sudo"))
	}
}

func (r *serviceRun) uninstall(ctx context.Context) error {
	s, u := r.service, r.app.UI(r.app.Stdout)
	state, root, err := s.state()
	if err != nil {
		return err
	}
	commands, running := s.drop, r.run(ctx, s.active) == nil
	if running {
		commands = s.stop
	}
	switch {
	case state == serviceForeign:
		return s.errForeign()
	case state == serviceAbsent && running:
		return errors.New(runsWithoutFile)
	case state == serviceAbsent:
		u.Printf("no service is installed: there is no %s\n", s.path)
		return nil
	case r.dryRun:
		r.printCommands("first", commands)
		u.Printf("then       remove %s\n", s.path)
		r.printCommands("last", s.forget)
		u.Printf("nothing was changed\n")
		return nil
	}
	if err := r.runAll(ctx, commands); err != nil {
		return fmt.Errorf("nothing was removed, because the daemon may still run: %w; or end the daemon yourself and remove %s", err, s.path)
	}
	if err := errors.Join(os.Remove(s.path), dropSecrets(cmp.Or(root, s.root))); err != nil {
		return fmt.Errorf("service: %w", err)
	}
	u.Printf("removed    %s\n", s.path)
	if err := r.runAll(ctx, s.forget); err != nil {
		return err
	}
	u.Printf("the daemon has stopped; its agents go on: `tmux -S %s list-sessions` lists them\n", proc.ShellQuote(data.At(cmp.Or(root, s.root)).TmuxSocket()))
	return nil
}

// runsWithoutFile says that the daemon's file is gone but init still runs the daemon.
const runsWithoutFile = "the service runs although its file is gone: `understudy service install` writes the file again, and `understudy service uninstall` then ends the service"

// serviceReport says whether the service is installed and runs.
type serviceReport struct {
	File    string `json:"file"`
	State   string `json:"state"`   // absent, same, other (written by another install), foreign
	Running bool   `json:"running"` // init runs the daemon
	Answers bool   `json:"answers"` // a daemon answers on the data directory
	Problem string `json:"problem"`
}

func (r *serviceRun) report(ctx context.Context) (serviceReport, error) {
	s := r.service
	rep := serviceReport{File: s.path}
	var err error
	if rep.State, _, err = s.state(); err != nil {
		return rep, err
	}
	rep.Running, rep.Answers = r.run(ctx, s.active) == nil, r.answers(ctx)
	switch {
	case rep.State == serviceForeign:
		rep.Problem = "the file was not written by `understudy service install`"
	case rep.State == serviceAbsent && rep.Running:
		rep.Problem = runsWithoutFile
	case rep.State == serviceAbsent:
	case rep.Running && !rep.Answers:
		rep.Problem = "the service does not serve this data directory, or not yet: see `" + s.log + "`"
	case !rep.Running:
		rep.Problem = "the service does not run: `" + s.log + "` tells why, `understudy service install` starts it"
	}
	return rep, nil
}

func (r *serviceRun) status(ctx context.Context) error {
	rep, err := r.report(ctx)
	if err != nil {
		return err
	}
	if r.app.JSON {
		return r.app.PrintJSON(rep)
	}
	file := rep.File
	switch rep.State {
	case serviceAbsent:
		file = "none: `understudy service install` installs it"
	case serviceOther:
		file += ", written by another version, for another data directory or with another PATH"
	}
	r.app.UI(r.app.Stdout).Fields("file", file, "running", term.YesOrNo(rep.Running), "daemon answers", term.YesOrNo(rep.Answers), "problem", rep.Problem)
	return nil
}

// answers reports whether a daemon answers on the data directory.
func (r *serviceRun) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := r.app.Client()
	defer c.Close()
	_, err := c.Health(ctx)
	return err == nil
}

// await waits until the daemon answers. The first start of a daemon may take long.
func (r *serviceRun) await(ctx context.Context) error {
	c := r.app.Client()
	defer c.Close()
	silent := fmt.Errorf("the service is installed, and its daemon does not answer: `%s` tells why", r.service.log)
	ctx, cancel := context.WithTimeoutCause(ctx, r.service.patience, silent)
	defer cancel()
	return poll(ctx, c)
}

// poll returns when the daemon answers. If ctx ends first, it returns the cause.
func poll(ctx context.Context, c *api.Client) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := c.Health(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (r *serviceRun) printCommands(when string, list []proc.CommandLine) {
	u := r.app.UI(r.app.Stdout)
	for _, command := range list {
		u.Printf("%-9s  %s\n", when, command)
	}
}

// runAll runs commands of init and prints them. It stops at the first command that fails, and says what to do.
func (r *serviceRun) runAll(ctx context.Context, list []proc.CommandLine) error {
	for _, command := range list {
		if err := r.run(ctx, command); err != nil {
			return fmt.Errorf("`%s` failed: %w: %s", command, err, r.service.away)
		}
		r.printCommands("done", []proc.CommandLine{command})
	}
	return nil
}

// run runs a command of init. The error is the command's output in one line.
func (r *serviceRun) run(ctx context.Context, command proc.CommandLine) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("it did not end within 2 minutes"))
	defer cancel()
	bin, err := child.LookPath(command[0], r.environ)
	if err != nil {
		return fmt.Errorf("there is no %s", command[0])
	}
	cmd := exec.CommandContext(ctx, bin, command[1:]...)
	cmd.Env = r.environ
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case strings.TrimSpace(string(out)) == "":
		return err
	}
	return errors.New(words.Clip(words.Line(string(out)), 300))
}
