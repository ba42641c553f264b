package runtimes

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Spec is one launch of an agent.
type Spec struct {
	AgentID      int64
	Name         string   // shown in the pane's title and in the CLI's own list of sessions
	SessionID    string   // a new UUID; ignored with Resume, and by a runtime that chooses the id itself
	Cwd          string   // working directory of the process; not part of the argument list
	Command      []string // the program and its fixed arguments, as configured
	Version      string   // of the CLI, as it prints it; "": not known
	Args         []string // what the operator has added to the command, as CheckArgs lets it through
	Options      []string // flags kept from a predecessor, as InheritOptions returns them
	Model        string   // overrides the model in Options; "" keeps the model in Options
	Mode         string   // overrides the permission mode in Options; "" keeps the mode in Options
	Effort       string   // the thinking level, one of Can.Efforts, overrides the level in Options; "" keeps the level in Options
	SkillText    string   // the persona's skill and experience
	Binary       string   // absolute path of our program that runs as the agent's hook; "": no hooks
	MayEdit      []string // absolute paths that the agent may read and change without asking; a folder ends with a slash
	MayRead      []string // absolute paths of files that the agent may read without asking
	MayHandOver  bool     // the agent may run the command /handoff without asking
	Slash        []byte   // the text of the command /handoff, which the launch brings along; nil: it brings none
	SettingsJSON []byte   // the CLI's settings, in place of those that Launch makes of Binary and of the fields May…
	Dir          string   // absolute path of this launch's own folder, for Launch.Files
	Resume       string   // id of the session to open again; "" starts a new one
	Server       Server   // for a runtime with [ByServer]: where its server is to listen
	User         UserHome // for a runtime with [OwnHome]: the user's own home
}

// Server is the HTTP server that a runtime runs for its agent. It listens on loopback.
type Server struct {
	Port     int    `json:"port"`
	Password string `json:"password"`
}

// File is a file that must exist, with mode 0600, before the launch.
type File struct {
	Path    string
	Content []byte
}

// Launch is the command that starts the agent, and the files to write before it.
type Launch struct {
	Argv      []string
	Env       []string // NAME=value, in addition to the environment that every agent gets
	Files     []File
	Links     []Link
	SessionID string // id of the session that will register; "": the runtime chooses it
}

// Add adds arguments to the command.
func (l *Launch) Add(args ...string) { l.Argv = append(l.Argv, args...) }

// Flag adds a flag with its value, unless that is empty.
func (l *Launch) Flag(name, value string) {
	if value != "" {
		l.Add(name, value)
	}
}

// File adds a file, and returns its path.
func (l *Launch) File(path string, content []byte) string {
	l.Files = append(l.Files, File{Path: path, Content: content})
	return path
}

// Launch makes an argument list and files from a spec. Its error names the field of the spec that it refuses. What the operator has added
// stands before all that the launch adds, so that the launch's flags, which come last, hold.
func (rt *Runtime) Launch(s Spec) (Launch, error) {
	l := Launch{Argv: slices.Concat(s.Command, s.Args), SessionID: s.Resume}
	if l.SessionID == "" && rt.Can.ChoosesID {
		l.SessionID = s.SessionID
	}
	err := rt.check(&s)
	if err == nil {
		err = rt.Build(&l, s)
	}
	switch {
	case err == nil:
		return l, nil
	case s.AgentID == 0: // it is only thought of
		return Launch{}, err
	}
	return Launch{}, fmt.Errorf("launch of agent %d: %w", s.AgentID, err)
}

// check refuses a spec that no launch of the runtime could do right by.
func (rt *Runtime) check(s *Spec) error {
	session, kind := UUID, "a UUID"
	if rt.Session != nil {
		session, kind = rt.Session, "one of "+rt.Title+"'s"
	}
	switch {
	case rt.Build == nil:
		return fmt.Errorf("the runtime %q is not known", rt.Name)
	case len(s.Command) == 0 || s.Command[0] == "":
		return fmt.Errorf("no command: set runtimes.%s.command", rt.Name)
	case !filepath.IsAbs(s.Dir):
		return fmt.Errorf("directory %q is not absolute", s.Dir)
	case s.Resume == "" && rt.Can.ChoosesID && !UUID().MatchString(s.SessionID):
		return fmt.Errorf("session id %q is not a UUID", s.SessionID)
	case s.Resume != "" && !session().MatchString(s.Resume):
		return fmt.Errorf("session id %q to resume is not %s", s.Resume, kind)
	case s.Effort != "" && rt.Can.Efforts != nil && !slices.Contains(rt.Can.Efforts, s.Effort):
		return fmt.Errorf("thinking level %q: use one of %s", s.Effort, strings.Join(rt.Can.Efforts, ", "))
	case s.Mode != "" && rt.Modes != nil && !slices.Contains(rt.Modes, s.Mode):
		return fmt.Errorf("permission mode %q: use one of %s", s.Mode, strings.Join(rt.Modes, ", "))
	case strings.ContainsAny(s.Name, "\n\r"):
		return fmt.Errorf("name %q has more than one line", s.Name)
	case strings.HasPrefix(s.Model, "-"):
		return fmt.Errorf("model %q begins with a dash", s.Model)
	}
	for _, path := range slices.Concat(s.MayEdit, s.MayRead) {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("path %q is not absolute", path)
		}
	}
	for _, a := range slices.Concat(s.Command, s.Options, []string{s.Dir, s.Name, s.Model, s.Binary}) {
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("argument %q contains a NUL byte", a)
		}
	}
	return nil
}
