package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
)

// linesName is the name of a runtime that is known by its configuration only: a program that reads lines.
const linesName = "lines"

// linesRuntime is the runtime of linesCLI.
var linesRuntime = mustGeneric(linesName, catalog.Generic{Command: []string{linesName}, Ready: `^> `, Exit: "/bye"})

func mustGeneric(name string, g catalog.Generic) *runtimes.Runtime {
	return must(catalog.NewGeneric(name, g))
}

// linesCLI is a program that nobody knows: it has a screen, and neither hooks nor a transcript. It shows what is typed, and
// takes a line for a prompt. While a turn runs, its screen changes now and then. It keeps what the generic runtime takes for
// granted: an Enter is not lost, and nothing but the screen has to be noticed.
var linesCLI = &cli{
	rt: linesRuntime, plain: true, late: true,
	arguments: func(a *agent, _ []string) {
		a.session = "none"
		a.mood.swallow, a.mood.limits, a.mood.compacts = 0, 0, 0
	},
	show: func(a *agent) (string, string) {
		rows := a.printed[max(0, len(a.printed)-12):]
		switch d := a.dialog; {
		case d != nil:
			rows = append(rows[:len(rows):len(rows)], d.Title+" "+d.Detail, d.Question+" [y/N]")
		case !a.frame.Visible:
			return "", ""
		case a.frame.Working != "":
			rows = append(rows[:len(rows):len(rows)], fmt.Sprintf("thinking %d", a.ticks), a.composer.Text)
		default:
			rows = append(rows[:len(rows):len(rows)], "> "+a.composer.Text)
		}
		return strings.Join(rows, "\n"), ""
	},
	hook: func(*agent, string, actor.Fields) (string, actor.Fields) { return "", nil },
	message: func(a *agent, role, text string) []actor.Fields {
		a.skilled = a.skilled || role == "user" && strings.Contains(text, "from now on you play the persona")
		a.printed = append(a.printed, role+": "+text)
		return nil
	},
	read: func(*agent, string) []actor.Fields { return nil },
	end: func(a *agent, how turnEnd, failure string) []actor.Fields {
		switch how {
		case turnInterrupted:
			a.printed = append(a.printed, "interrupted")
		case turnFailed:
			a.printed = append(a.printed, failure)
		}
		return nil
	},
	transcript: func(*agent) string { return "" },
	live: func(a *agent) {
		go func() {
			for !a.dead {
				a.do("shows that it works", 2*time.Second, 4*time.Second)
				if a.ticks++; a.frame.Working != "" {
					a.draw()
				}
			}
		}()
	},
}
