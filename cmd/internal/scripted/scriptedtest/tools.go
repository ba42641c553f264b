package scriptedtest

import (
	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/daemon/actor"
)

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
