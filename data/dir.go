package data

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
)

// archive is the folder inside personas/ that holds the archived ones. Package personas moves
// them there; Seed looks there, so that what a user put away does not come back.
const archive = ".archive"

// Dir is a data directory: an absolute, cleaned path. The zero Dir is of no use; see [Open].
type Dir struct{ root string }

// Default returns where the data directory is when nobody names one. euid is the effective
// user id; for root it is a folder that PostgreSQL's account can reach, which a home is not.
func Default(getenv func(string) string, euid int) (string, error) {
	if euid == 0 {
		return "/var/lib/understudy/data", nil
	}
	// The XDG specification wants relative values ignored.
	if share := getenv("XDG_DATA_HOME"); filepath.IsAbs(share) {
		return filepath.Join(share, "understudy", "data"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "understudy", "data"), nil
	}
	return "", errors.New("there is no home directory to keep data in: name a folder with --data")
}

// At names the paths of a data directory that is another host's; it makes and checks nothing.
func At(root string) Dir { return Dir{root: filepath.Clean(root)} }

// Root is the data directory itself.
func (d Dir) Root() string { return d.root }

// Personas is the folder of all personas.
func (d Dir) Personas() string { return filepath.Join(d.root, "personas") }

// Persona is the folder of one persona. A slug that is not the name of one folder gives a
// path inside Personas that no persona has, so that no slug ever leads out.
func (d Dir) Persona(slug string) string {
	if slug == "" || strings.HasPrefix(slug, ".") || strings.ContainsAny(slug, "/\\\x00") {
		slug = ".invalid"
	}
	return filepath.Join(d.Personas(), slug)
}

// Handoffs is the folder of one persona's handoff documents.
func (d Dir) Handoffs(slug string) string { return filepath.Join(d.Persona(slug), "handoffs") }

// Pipelines is the folder of the pipeline templates.
func (d Dir) Pipelines() string { return filepath.Join(d.root, "pipelines") }

// Worktree is the git work tree of a run that has a branch.
func (d Dir) Worktree(pipelineID int64) string {
	return filepath.Join(d.root, "worktrees", strconv.FormatInt(pipelineID, 10))
}

// Config is the settings file.
func (d Dir) Config() string { return filepath.Join(d.root, "config.yaml") }

// Requirements is the file that says what each role must be told; users edit it.
func (d Dir) Requirements() string { return filepath.Join(d.root, "requirements.yaml") }

// Spool is the folder in which hooks wait while the daemon is away.
func (d Dir) Spool() string { return filepath.Join(d.root, "spool") }

// Postgres is the folder of the private PostgreSQL; it is made, and owned, by its keeper.
func (d Dir) Postgres() string { return filepath.Join(d.root, "postgres") }

// HostIDFile holds the id of this host; see [Dir.HostID].
func (d Dir) HostIDFile() string { return filepath.Join(d.root, "host_id") }

// Socket is the unix socket of the whole API.
func (d Dir) Socket() string { return d.run("understudy.sock") }

// HookSocket is the unix socket that agents are given.
func (d Dir) HookSocket() string { return d.run("hook.sock") }

// HookProgram is the copy of the program of agents' hooks that agents are given.
func (d Dir) HookProgram() string { return filepath.Join(d.root, "bin", "understudy-hook") }

// Token holds what a TCP client of the API must present; see [Dir.TokenValue].
func (d Dir) Token() string { return d.run("token") }

// Logins is the file that keeps which browsers are signed in to the dashboard.
func (d Dir) Logins() string { return d.run("logins.json") }

// TmuxSocket is the socket of our own tmux server.
func (d Dir) TmuxSocket() string { return d.run("tmux.sock") }

// Lock is the file that the one daemon of this directory keeps locked.
func (d Dir) Lock() string { return d.run("lock") }

// Launch is the file or folder from which the launch of one agent is read.
func (d Dir) Launch(agentID int64) string {
	return filepath.Join(d.run("launch"), strconv.FormatInt(agentID, 10))
}

func (d Dir) run(name string) string { return filepath.Join(d.root, "run", name) }
