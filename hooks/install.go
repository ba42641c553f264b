package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Plan is a change of a settings file, to be shown and then [Apply]'d.
type Plan struct {
	Path   string // set by [Plan.For]
	Backup string // set by [Plan.For]; empty if there is nothing to back up

	// Before and After are the whole file; nil is no file, which is not the
	// same as an empty one.
	Before, After  []byte
	Changed        bool
	Added, Removed []string // events; an event in both is updated
}

// InstallOptions is what to install.
type InstallOptions struct {
	Bin     string   // our binary, absolute
	DataDir string   // absolute, or empty: the command's default
	Events  []string // see [KnownEvents]
}

// marker is in each command that install wrote, and in nobody else's.
const marker = " hook --installed "

// madeFlag tells what install had to make for a hook, besides the hook: the
// event's list, the hooks object, the braces of an empty file, the file. Each
// implies those before it. uninstall takes away what it names and what is empty
// by then, so that it can tell our containers from empty ones that were there.
const madeFlag = "--made"

var levels = []string{"hook", "event", "hooks", "braces", "file"}

const (
	madeHook = iota
	madeEvent
	madeHooks
	madeBraces
	madeFile
)

func (o InstallOptions) command(event string, made int) string {
	line := shellWord(o.Bin) + marker + madeFlag + " " + levels[made]
	if o.DataDir != "" {
		line += " --data " + shellWord(o.DataDir)
	}
	return line + " " + event
}

// ours is a hook of ours in a settings text, and where it is.
type ours struct {
	event               string
	hooks, list, inner  int // where these containers open
	eventNo, group, own int // which item it is in each
	command             string
	timeout             any // a float64, if a person did not change it
}

func (h ours) made() int {
	words, _ := shellWords(h.command)
	if i := slices.Index(words, madeFlag); i >= 0 && i+1 < len(words) {
		return max(madeHook, slices.Index(levels, words[i+1]))
	}
	return madeHook
}

// PlanInstall puts our hooks into the user's settings: nil for no file. Every
// byte that is not ours stays; hooks of ours that are there already are
// replaced where they differ, so that a second install changes nothing and one
// from another place updates. Settings that are no JSON object, or whose hooks
// have a shape that the CLI itself would refuse, are an error.
func PlanInstall(settings []byte, o InstallOptions) (Plan, error) {
	p := Plan{Before: settings, After: settings}
	if err := o.check(); err != nil {
		return p, fmt.Errorf("install hooks: %w", err)
	}
	present, err := find(settings)
	if err != nil {
		return p, fmt.Errorf("install hooks: settings: %w", err)
	}
	if o.installed(present) {
		return p, nil
	}
	bare := strip(settings)
	if p.After, err = o.add(bare); err != nil {
		p.After = settings
		return p, fmt.Errorf("install hooks: settings: %w", err)
	}
	p.Changed = true
	p.Added, p.Removed = slices.Clone(o.Events), eventsOf(present)
	return p, nil
}

// PlanUninstall takes our hooks out again. A file that nobody else changed is
// then what it was before PlanInstall, byte for byte, or no file.
func PlanUninstall(settings []byte) (Plan, error) {
	p := Plan{Before: settings, After: settings}
	present, err := find(settings)
	if err != nil {
		return p, fmt.Errorf("uninstall hooks: settings: %w", err)
	}
	if len(present) == 0 {
		return p, nil
	}
	p.After, p.Changed, p.Removed = strip(settings), true, eventsOf(present)
	return p, nil
}

// Report is what of ours is in a settings file.
type Report struct {
	Events       []string // empty: not installed
	Bin, DataDir string   // of the first of them
	Mixed        bool     // not all run the same binary and data directory
}

// Status looks for our hooks in the settings; nil for no file.
func Status(settings []byte) (Report, error) {
	present, err := find(settings)
	if err != nil {
		return Report{}, fmt.Errorf("status of hooks: settings: %w", err)
	}
	r := Report{Events: eventsOf(present)}
	for i, h := range present {
		bin, data := h.paths()
		if i == 0 {
			r.Bin, r.DataDir = bin, data
		}
		r.Mixed = r.Mixed || bin != r.Bin || data != r.DataDir
	}
	return r, nil
}

func (h ours) paths() (bin, data string) {
	words, _ := shellWords(h.command)
	if i := slices.Index(words, "--data"); i >= 0 && i+1 < len(words) {
		data = words[i+1]
	}
	if i := slices.Index(words, "--installed"); i >= 2 {
		bin = words[i-2]
	}
	return bin, data
}

func eventsOf(present []ours) []string {
	var events []string
	for _, h := range present {
		if !slices.Contains(events, h.event) {
			events = append(events, h.event)
		}
	}
	return events
}

func (o InstallOptions) check() error {
	if err := checkPath("binary", o.Bin); err != nil {
		return err
	}
	if o.DataDir != "" {
		if err := checkPath("data directory", o.DataDir); err != nil {
			return err
		}
	}
	if len(o.Events) == 0 {
		return errors.New("no events to install")
	}
	for i, event := range o.Events {
		if name, ok := Canonical(event); !ok || name != event || slices.Contains(o.Events[:i], event) {
			return fmt.Errorf("event %.80q is not canonical, or twice in the list", event)
		}
	}
	return nil
}

// installed reports whether present is what installing would write, each once.
func (o InstallOptions) installed(present []ours) bool {
	if len(present) != len(o.Events) || len(eventsOf(present)) != len(o.Events) {
		return false
	}
	for _, h := range present {
		if !slices.Contains(o.Events, h.event) || h.timeout != float64(hookTimeout(h.event)) ||
			h.command != o.command(h.event, h.made()) {
			return false
		}
	}
	return true
}

// add puts the hooks into settings that hold none of ours.
func (o InstallOptions) add(text []byte) ([]byte, error) {
	made := madeHook
	if blank(text) {
		made = madeBraces
		if text == nil {
			made = madeFile
		}
		text = slices.Concat(text, []byte("{}\n"))
	}
	root := skipSpace(text, 0)
	s := styleOf(text, root)
	if _, ok := member(text, root, "hooks"); !ok {
		made = max(made, madeHooks)
		text = insert(text, root, `"hooks"`+s.colon()+"{}", s, 1)
	}
	for _, event := range o.Events {
		var err error
		if text, err = o.addEvent(text, root, s, event, made); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func (o InstallOptions) addEvent(text []byte, root int, s style, event string, made int) ([]byte, error) {
	hooks, _ := member(text, root, "hooks")
	if text[hooks.value] != '{' {
		return nil, errors.New(`"hooks" is not an object; correct or remove it and try again`)
	}
	list, ok := member(text, hooks.value, event)
	if !ok {
		made = max(made, madeEvent)
		text = insert(text, hooks.value, `"`+event+`"`+s.colon()+"[]", s, 2)
		list, _ = member(text, hooks.value, event)
	}
	if text[list.value] != '[' {
		return nil, fmt.Errorf("\"hooks\".%q is not a list; correct or remove it and try again", event)
	}
	group, err := s.render(hookGroup{[]commandHook{{
		Type: "command", Command: o.command(event, made), Timeout: hookTimeout(event),
	}}}, 3)
	if err != nil {
		return nil, err
	}
	return insert(text, list.value, group, s, 3), nil
}

func blank(text []byte) bool { return skipSpace(text, 0) == len(text) }

// find lists our hooks in the settings, in the order of the text.
func find(text []byte) ([]ours, error) {
	if blank(text) {
		return nil, nil
	}
	if err := checkObject(text); err != nil {
		return nil, err
	}
	return locate(text), nil
}

func locate(text []byte) []ours {
	hooks, ok := member(text, skipSpace(text, 0), "hooks")
	if !ok || text[hooks.value] != '{' {
		return nil
	}
	var found []ours
	for e, event := range items(text, hooks.value) {
		if text[event.value] != '[' {
			continue
		}
		for g, group := range items(text, event.value) {
			if text[group.value] != '{' {
				continue
			}
			inner, ok := member(text, group.value, "hooks")
			if !ok || text[inner.value] != '[' {
				continue
			}
			for n, entry := range items(text, inner.value) {
				h := ours{event: event.key, hooks: hooks.value, list: event.value, inner: inner.value, eventNo: e, group: g, own: n}
				if h.command, h.timeout, ok = readOurs(text[entry.value:entry.end]); ok {
					found = append(found, h)
				}
			}
		}
	}
	return found
}

// readOurs reads a hook's entry, if it is one that install wrote.
func readOurs(entry []byte) (command string, timeout any, ok bool) {
	if entry[0] != '{' || !bytes.Contains(entry, []byte("--installed")) {
		return "", nil, false
	}
	var h struct {
		Type, Command string
		Timeout       any
	}
	ok = json.Unmarshal(entry, &h) == nil && h.Type == "command" && strings.Contains(h.Command, marker)
	return h.Command, h.Timeout, ok
}

// strip takes our hooks out of settings that find has accepted.
func strip(text []byte) []byte {
	for !blank(text) {
		found := locate(text)
		if len(found) == 0 {
			break
		}
		text = found[0].cut(text)
	}
	return text
}

// cut takes h out, and whatever around it is empty by then and was made for it.
func (h ours) cut(text []byte) []byte {
	made := h.made()
	text = remove(text, h.inner, h.own)
	if len(items(text, h.inner)) > 0 {
		return text
	}
	text = remove(text, h.list, h.group) // the group was ours alone
	if made < madeEvent || len(items(text, h.list)) > 0 {
		return text
	}
	text = remove(text, h.hooks, h.eventNo)
	if made < madeHooks || len(items(text, h.hooks)) > 0 {
		return text
	}
	root := skipSpace(text, 0)
	at := slices.IndexFunc(items(text, root), func(it item) bool { return it.value == h.hooks })
	text = remove(text, root, at)
	switch {
	case made < madeBraces || len(items(text, root)) > 0:
		return text
	case made == madeFile:
		return nil
	default: // what the file held was space before the braces that we made
		return slices.Clip(text[:root])
	}
}
