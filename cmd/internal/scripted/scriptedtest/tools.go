package scriptedtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/daemon/actor"
)

// editTool returns a call of Claude Code's Edit, which adds a line to a file. If there is no file, the call makes it.
func editTool(a *scripted.Agent, file string) scripted.Tool {
	const added = "One line by the scripted agent.\n"
	path := a.Path(file)
	input := actor.Fields{"replace_all": false, "file_path": path, "old_string": "", "new_string": added}
	before, err := os.ReadFile(path)
	if err == nil && len(before) > 0 {
		lines := strings.SplitAfter(strings.TrimSuffix(string(before), "\n")+"\n", "\n")
		last := lines[len(lines)-2] // the part after the last line break is empty
		input["old_string"], input["new_string"] = last, last+added
	}
	return scripted.Tool{
		Name: "Edit", Title: path, Edits: path, Input: input,
		Do: func() (any, string, error) {
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, "", err
			}
			text := string(before)
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			if err := a.WriteFile(path, text+added); err != nil {
				return nil, "", err
			}
			return actor.Fields{
				"filePath": path, "oldString": input["old_string"], "newString": input["new_string"], "originalFile": string(before),
				"structuredPatch": []string{}, "userModified": false, "replaceAll": false,
			}, "Added 1 line", nil
		},
	}
}

// askTool returns a call of a command that needs permission.
func askTool() scripted.Tool {
	const command = "make deploy"
	return scripted.Tool{
		Name: "Bash", Title: command, Asks: true, Input: actor.Fields{"command": command, "description": "Deploy"},
		Do: func() (any, string, error) { return ranCommand("ok"), "ok", nil },
	}
}

// ranCommand returns Bash's response for a command.
func ranCommand(stdout string) actor.Fields {
	return actor.Fields{"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false}
}

// taskMark begins the prompt that reports a finished task.
const taskMark = "<task-notification>"

// backgroundTool returns a call of a command that goes on after the turn, until file exists. Without a file it goes on
// for ever. The end of the command begins a turn.
func (s *script) backgroundTool(a *scripted.Agent, file string) scripted.Tool {
	command := "wait-for " + file
	const what = "Wait for a file"
	return scripted.Tool{
		Name: "Bash", Title: command, Input: actor.Fields{"command": command, "description": what, "run_in_background": true},
		Do: func() (any, string, error) {
			task := actor.ShellTask("b"+uuid.NewString()[:8], what, command)
			s.mu.Lock()
			s.background = append(s.background, task)
			s.mu.Unlock()
			a.Go(func(ctx context.Context) {
				if waitForFile(ctx, file) != nil {
					return
				}
				s.mu.Lock()
				s.background = slices.DeleteFunc(s.background, func(other actor.Task) bool { return other.ID == task.ID })
				s.mu.Unlock()
				a.Notify(fmt.Sprintf(taskMark+"\n<task-id>%s</task-id>\n<status>completed</status>\n"+
					"<summary>Background command %q completed</summary>\n</task-notification>", task.ID, what))
			})
			response := ranCommand("")
			response["backgroundTaskId"] = task.ID
			return response, "Command running in background with ID: " + task.ID, nil
		},
	}
}

// tasks returns the commands that run in the background.
func (s *script) tasks() []actor.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.background)
}
