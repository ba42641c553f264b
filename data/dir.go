package data

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
)

// archive is the folder inside personas/ with the archived personas. Package personas moves personas there. Seed looks
// there, so that it does not add a persona again that a user archived.
const archive = ".archive"

// Dir is a data directory: an absolute, cleaned path. The zero Dir is of no use; see [Open].
type Dir struct{ root string }

// Default returns the path of the data directory that is used if the user names none. euid is the effective user id. For
// root, Default returns a folder that PostgreSQL's account can reach, because that account cannot reach root's home.
func Default(getenv func(string) string, euid int) (string, error) {
	if euid == 0 {
		return "/var/lib/understudy/data", nil
	}
	// The XDG specification says to ignore a relative path.
	if share := getenv("XDG_DATA_HOME"); filepath.IsAbs(share) {
		return filepath.Join(share, "understudy", "data"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "understudy", "data"), nil
	}
	return "", errors.New("there is no home directory to keep data in: name a folder with --data")
}

// At returns the data directory at root, and makes and checks nothing. It is for callers that only need paths, such as a
// client of the API, or that ask about another host's directory.
func At(root string) Dir { return Dir{root: filepath.Clean(root)} }

// Root is the data directory itself.
func (d Dir) Root() string { return d.root }

// Personas is the folder of all personas.
func (d Dir) Personas() string { return filepath.Join(d.root, "personas") }

// Persona is the folder of one persona. For a slug that cannot be the name of a folder it returns a path inside
// Personas that no persona has, so that no slug leads out of Personas.
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

// Worktree is the git work tree with an id. name is a part of the path for people.
func (d Dir) Worktree(name string, id int64) string {
	return filepath.Join(d.root, "worktrees", name+"-w"+strconv.FormatInt(id, 10))
}

// Config is the settings file.
func (d Dir) Config() string { return filepath.Join(d.root, "config.yaml") }

// ServiceEnv is the file with the variables that `service install --env` passes on, NAME=value on each line.
func (d Dir) ServiceEnv() string { return filepath.Join(d.root, "service.env") }

// Requirements is the file with the requirements of each role. Users edit it.
func (d Dir) Requirements() string { return filepath.Join(d.root, "requirements.yaml") }

// Spool is the folder for the payloads of hooks that no daemon has taken yet.
func (d Dir) Spool() string { return filepath.Join(d.root, "spool") }

// Postgres is the folder of the private PostgreSQL. Package db/localpg makes and owns it.
func (d Dir) Postgres() string { return filepath.Join(d.root, "postgres") }

// HostIDFile holds the id of this host; see [Dir.HostID].
func (d Dir) HostIDFile() string { return filepath.Join(d.root, "host_id") }

// Socket is the unix socket of the whole API.
func (d Dir) Socket() string { return d.run("understudy.sock") }

// HookSocket is the unix socket for agents. It serves only a part of the API.
func (d Dir) HookSocket() string { return d.run("hook.sock") }

// AgentRoom is the folder that agents in a sandbox see of the folder run: another name of [Dir.HookSocket] is in it, and nothing else.
func (d Dir) AgentRoom() string { return d.run("agent") }

// AgentSpool is the folder in which an agent in a sandbox has its spool, which is a part of [Dir.Spool].
func (d Dir) AgentSpool(agentID int64) string {
	return filepath.Join(d.Spool(), strconv.FormatInt(agentID, 10))
}

// HookProgram is the copy of understudy-hook that agents run.
func (d Dir) HookProgram() string { return filepath.Join(d.root, "bin", "understudy-hook") }

// Token is the file with the token that a TCP client of the API must send; see [Dir.TokenValue].
func (d Dir) Token() string { return d.run("token") }

// Logins is the file that lists the browsers that are signed in to the dashboard.
func (d Dir) Logins() string { return d.run("logins.json") }

// TmuxSocket is the socket of the daemon's own tmux server.
func (d Dir) TmuxSocket() string { return d.run("tmux.sock") }

// Lock is the file that the daemon of this directory keeps locked, so that no second daemon can use the directory.
func (d Dir) Lock() string { return d.run("lock") }

// Launch is the path of the file or folder with the launch of one agent.
func (d Dir) Launch(agentID int64) string {
	return filepath.Join(d.run("launch"), strconv.FormatInt(agentID, 10))
}

func (d Dir) run(name string) string { return filepath.Join(d.root, "run", name) }
