// Package opencode is OpenCode: its command lines and settings, its screens, what its server tells of a session as reports, and the mirror
// of the session's messages, which has the form of Claude Code's transcript.
package opencode

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
)

const runtimeName = "opencode"

// Runtime is OpenCode. Its screen is a client of an HTTP server in the same process: the daemon talks to that server, and a
// person sees the same session in the pane. Its assumptions were measured on 1.18.33; the end-to-end tests repeat the
// measurements.
var Runtime = &runtimes.Runtime{
	Name: runtimeName, Title: "OpenCode", Command: []string{"opencode"}, Modes: modeNames, Widths: widths,
	Can: runtimes.Can{
		Tested: "1.18.33",
		Skill:  runtimes.SkillInSystem, Registers: runtimes.RegistersByServer, Ways: []runtimes.Way{runtimes.ByServer, runtimes.ByTyping}, Exit: runtimes.ByServer,
		Escapes: 2, Compacts: true, KnowsWindow: true, Transcript: true,
		Reads: reads, Todos: "`todowrite`", Model: "each prompt",
		Turns: "its server: messages and status", Refusals: "its server: the error that a plugin has thrown in chat.message", Errors: "its server: the error of an answer",
		Limits: "its server: a retry that is more than 5 minutes away or names a quota", Usage: "its server: the tokens of the newest answer", Tokens: "its server, without sub-agents", Cost: "its server",
		Permissions: "its server: requests that nobody has answered for a second", Document: "a fork of the session, made by its server",
		OneShot: "`run`, with a database of its own",
		Cannot: []string{
			"Without a mode its own settings hold: they ask for nothing inside the working directory.",
			"The end of a turn cannot be answered: a text for a busy agent, such as the instruction of a handoff, waits until it is idle.",
			"A session that a person opens in the pane beside the agent's own is not followed.",
			"Its compaction cannot be refused.",
			"It drops the prompts that are queued behind a turn that is aborted, by Esc or at a usage limit: the model reads them with the next prompt. The conversation of a handoff has them, marked as not begun.",
			"The user's variable OPENCODE_CONFIG_CONTENT does not hold for launched agents; their files of settings do.",
			"In the modes ask and edits it also asks before it hands a part of the work to an agent that the user has made.",
			"In the mode auto nobody is asked, also where the user's own settings say so; what they deny is refused.",
		},
	},
	Build: launch, Session: sessionID, CheckVersion: runtimes.NotBefore("OpenCode", oldest, "install 1.18.33 or newer with `npm install -g opencode-ai@latest`"), ReadScreen: readScreen, Dialogs: dialogLook,
	Fork: ask, ForkAnswer: runtimes.ReadAnswer(readAnswer),
	OwnArgs: args, Account: account, Places: places,
	ReadLine: claude.ReadLine, Clean: claude.WithoutMarks, // the mirror has the form of Claude Code's transcript: see Message.lines
}

// reads are OpenCode's tools that show that a file was read.
var reads = runtimes.Reads{Tools: []string{"read"}, Shells: []string{"bash"}}

// config are the settings of one launch, which are in its environment. OpenCode lays them over all files of the user's and of
// the project, key by key: a key that both have keeps its place among the user's.
type config struct {
	Schema       string                   `json:"$schema"`
	Model        string                   `json:"model,omitempty"`
	AutoUpdate   bool                     `json:"autoupdate"`
	Share        string                   `json:"share"`
	Instructions []string                 `json:"instructions,omitempty"`
	Agent        map[string]agentSettings `json:"agent,omitempty"`
}

// agentSettings are the settings of one of OpenCode's own agents. Its permissions come after those of the user, and the last
// rule that matches holds.
type agentSettings struct {
	Permission rules `json:"permission"`
}

// rules are what an agent may do, by tool and pattern. JSON sorts the patterns of a tool, so that a folder's "*" comes
// before the files of the folder.
type rules map[string]map[string]string

// launch builds
//
//	COMMAND --hostname 127.0.0.1 --port PORT --agent AGENT -s SESSION
//
// and leaves out each flag whose field in the spec is empty. The skill is in a file of Dir, and the settings and the password
// of the server are in the environment, because every user of the machine can see an argument list. The first prompt is not
// given here: OpenCode would put it into a session of its own, and drops it without a word where it opens a session again. The
// daemon sends it to the server.
func launch(l *runtimes.Launch, s runtimes.Spec) error {
	if s.Server.Port <= 0 || s.Server.Password == "" {
		return errors.New("its server has no port or no password")
	}
	conf := config{Schema: "https://opencode.ai/config.json", Model: s.Model, Share: "disabled"}
	if strings.TrimSpace(s.SkillText) != "" {
		conf.Instructions = []string{l.File(runtimes.SkillFile(s.Dir), []byte(s.SkillText))}
	}
	for _, agent := range named {
		if rules := agentRules(s, agent); len(rules) > 0 {
			if conf.Agent == nil {
				conf.Agent = map[string]agentSettings{}
			}
			conf.Agent[agent] = agentSettings{rules}
		}
	}
	b, err := json.Marshal(conf)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	l.Add("--hostname", "127.0.0.1", "--port", strconv.Itoa(s.Server.Port))
	l.Flag("--agent", AgentOf(s.Mode))
	l.Flag("-s", s.Resume)
	l.Env = []string{
		"OPENCODE_CONFIG_CONTENT=" + string(b),
		"OPENCODE_SERVER_PASSWORD=" + s.Server.Password,
		"OPENCODE_DISABLE_AUTOUPDATE=1",
	}
	return nil
}

// agentNames are the agents of OpenCode itself, which --agent names.
var agentNames = []string{"build", "plan"}

// AgentOf returns the agent of OpenCode's that a mode names; "": the mode names none.
func AgentOf(mode string) string {
	if slices.Contains(agentNames, mode) {
		return mode
	}
	return ""
}

// modeNames are the modes in the order in which people see them.
var modeNames = slices.Concat([]string{"ask", "edits", "auto"}, agentNames)

// widths compares the modes. The two agents are left out: what they may do follows from the user's own settings.
var widths = map[string]runtimes.Width{"": runtimes.WidthAsk, "ask": runtimes.WidthAsk, "edits": runtimes.WidthEdits, "auto": runtimes.WidthAuto}

// patterns returns the names by which OpenCode may know a path: from the root of the repository, which is the working
// directory or a folder above it. Outside a repository the root is "/".
func patterns(cwd, path string) (names []string) {
	for root := filepath.Clean(cwd); ; root = filepath.Dir(root) {
		if rel, err := filepath.Rel(root, path); err == nil {
			if strings.HasSuffix(path, "/") {
				rel += "/*"
			}
			names = append(names, rel)
		}
		if root == "/" || root == "." {
			return append(names, strings.TrimSuffix(path, "/")+map[bool]string{true: "/*"}[strings.HasSuffix(path, "/")])
		}
	}
}

var (
	sessionID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ses_[0-9A-Za-z]{1,60}$`) })
)

// oldest is the oldest version that can be supervised: the server of earlier ones was not measured.
const oldest = "1.18"
