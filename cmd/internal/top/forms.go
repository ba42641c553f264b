package top

import (
	"fmt"
	"strconv"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// begin returns the form. Its first field is typed into.
func (f *form) begin() *form {
	if len(f.fields) > 0 {
		f.fields[f.at].focus()
	}
	return f
}

func setReason(a *action, v string) { a.reason = v }
func setText(a *action, v string)   { a.text = v }

func handOffForm(r *row) *form {
	f := &form{
		title: "Hand off " + named(r), enter: "hand off",
		fields: []field{
			lineField("reason", "manual", "", maxReason, setReason),
			lineField("focus", "what the document should dwell on", "", maxFocus, setText),
		},
		action: action{verb: handOff, agent: r.id},
	}
	return f.begin()
}

func decisionForm(r *row, v verb) *form {
	f := &form{
		title: "Approve " + named(r), enter: "approve",
		fields: []field{lineField("comment", "may be left empty", "", maxComment, setText)},
		action: action{verb: v, pipeline: r.id},
	}
	if s := r.pipeline.Asked(); s != nil {
		f.action.step, f.action.after = s.ID, s == r.pipeline.AwaitsWay()
	}
	if s := r.pipeline.AwaitsWay(); s != nil && v == approve {
		f.title, f.enter = "Which step comes after step "+strconv.Itoa(s.OrderIndex+1)+" of "+named(r)+"?", "choose"
		f.fields = append([]field{choiceField("next", &choice{options: wayOptions(r.pipeline, s)}, setWay)}, f.fields...)
	}
	if v == reject {
		f.title, f.enter = "Reject "+named(r), "go on"
		f.confirm, f.answers = fmt.Sprintf("Reject pipeline %d? That ends it.", r.id), []answer{{key: "y", does: "reject"}}
	}
	return f.begin()
}

// wayOptions lists the steps that a person may choose after an undecided one. The first is the following one.
func wayOptions(p *daemon.Pipeline, s *daemon.Step) []option {
	options := []option{{name: "the following one"}}
	for _, to := range views.Ways(p, s) {
		options = append(options, option{value: strconv.Itoa(to.Number), name: fmt.Sprintf("step %d, %s", to.Number, words.Terminal(to.AgentName))})
	}
	return options
}

func setWay(a *action, v string) { a.way, _ = strconv.Atoi(v) } // "": the following one

// permissionForm asks for an answer to a permission that is more than this once. Only a refusal has a text.
func permissionForm(p *daemon.Permission, v verb) *form {
	f := &form{action: action{verb: v, asked: *p}}
	if v == allowAgent {
		f.title, f.enter = fmt.Sprintf("Allow agent %d from now on: %s", p.AgentID, words.Terminal(p.Rule)), "allow"
	} else {
		f.title, f.enter = "Deny: "+words.Terminal(p.Line()), "deny"
		f.fields = []field{lineField("sentence", "what the agent should do instead; may be left empty", "", maxSentence, setText)}
	}
	return f.begin()
}

// messageForm asks for a text for an agent. draft is what the operator wrote there before and did not send.
func messageForm(r *row, draft string) *form {
	f := &form{
		title: "Message to " + named(r), enter: "send", keeps: true,
		fields: []field{areaField("text", "typed to the agent when its turn is over", draft, maxMessage, setText)},
		action: action{verb: sendMessage, agent: r.id},
	}
	return f.begin()
}

// asCommand asks whether a text that the runtime takes for a command is sent as one.
func (f *form) asCommand() {
	f.asking = true
	f.confirm = fmt.Sprintf("The agent's runtime takes this for one of its commands: %s. Send it as a command?", words.FirstLine(words.Terminal(f.fields[0].value()), 60))
	f.answers = []answer{{key: "y", does: "send it as a command", set: func(a *action) { a.runs = true }}}
}

// startForm asks for a new agent. The lists of personas and runtimes are offered later.
func startForm(in agents.NewAgent) *form {
	persona, runtime := &choice{reading: true}, &choice{options: []option{{name: "the persona's"}}, reading: true}
	if in.Persona != "" {
		persona.options = []option{{value: in.Persona}}
	}
	f := &form{
		title: "New agent", enter: "start", keeps: true,
		fields: []field{
			choiceField("persona", persona, func(a *action, v string) { a.start.Persona = v }),
			lineField("directory", "absolute, or from ~", in.Cwd, maxPath, func(a *action, v string) { a.start.Cwd = v }),
			choiceField("runtime", runtime, func(a *action, v string) { a.start.Runtime = v }),
			lineField("name", "may be left empty: the persona's", "", maxName, func(a *action, v string) { a.start.Name = v }),
			areaField("prompt", "given to the agent when it is ready; may be left empty", "", maxMessage, func(a *action, v string) { a.start.Prompt = v }),
		},
		action: action{verb: startAgent, start: in},
	}
	return f.begin()
}

// personaField and runtimeField are the indices of the fields of [startForm].
const personaField, runtimeField = 0, 2

func stopForm(r *row) *form {
	return &form{
		title: "Stop " + named(r) + "?", asking: true,
		confirm: "It is asked to exit. If it does not, it is ended, and a turn that it is in breaks off. Messages that wait for it are " +
			"dropped. Its files stay, and r opens its session again.",
		answers: []answer{{key: "y", does: "stop"}, {key: "f", does: "end it at once", set: func(a *action) { a.force = true }}},
		action:  action{verb: stopAgent, agent: r.id},
	}
}

func renameForm(r *row) *form {
	f := &form{
		title: "Rename " + named(r), enter: "rename", keeps: true,
		fields: []field{lineField("name", "", r.agent.Name, maxName, setText)},
		action: action{verb: renameAgent, agent: r.id},
	}
	return f.begin()
}

// resumeForm asks whether the sessions of several agents are opened again.
func resumeForm(ids []int64) *form {
	return &form{
		title: fmt.Sprintf("Open the sessions of %d agents again?", len(ids)), asking: true,
		confirm: fmt.Sprintf("They died: %s. Each becomes a new agent that continues the conversation. None gets a prompt.", listed("agent", ids)),
		answers: []answer{{key: "y", does: "open them"}},
		action:  action{verb: resumeAgents, ids: ids},
	}
}

// endedForm asks which agent's session is opened again. The list of those that have ended is offered later.
func endedForm() *form {
	f := &form{
		title: "Open the session of an agent again that has ended", enter: "open", keeps: true,
		fields: []field{choiceField("agent", &choice{reading: true}, func(a *action, v string) {
			id, _ := strconv.ParseInt(v, 10, 64) // while the list is read there is none, and no agent has the id 0
			a.ids = []int64{id}
		})},
		action: action{verb: resumeAgents},
	}
	return f.begin()
}

// listed names things by their ids, the first few of them.
func listed(thing string, ids []int64) string {
	const most = 8
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, fmt.Sprint(id))
	}
	if len(ids) == 1 {
		return thing + " " + names[0]
	}
	return thing + "s " + words.List(names, len(ids))
}

// named returns the name of a row in a form.
func named(r *row) string { return fmt.Sprintf("%s (%s)", r.key, words.Terminal(r.name())) }
