package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Plan is a change of a settings file, or of the command's file. The caller shows it and passes it to [Apply].
type Plan struct {
	Path   string // of a settings file, it is set by [Plan.For]
	Backup string // set by [Plan.For]; empty if there is nothing to back up

	// Before and After are the whole text of the file. nil stands for no file, and
	// an empty slice for an empty file.
	Before, After  []byte
	Changed        bool
	Added, Removed []string // events; an event in both lists is updated
	Foreign        bool     // install did not write the command's file, so the plan does not change it
	folder         bool     // the file's folder goes with the file, if it is empty
}

// InstallOptions says which hooks to install, and which command they run.
type InstallOptions struct {
	Bin     string   // absolute path of our binary
	DataDir string   // absolute path; "": the hook command uses its default
	Events  []string // see [Events]
}

// marker is part of each command that install writes, and of no other command.
const marker = " hook --installed "

// madeFlag is a flag of a hook's command. Its value, one of levels, says which
// containers install had to make for the hook: the event's list, the hooks
// object, the braces of an empty file, or the file. Each level includes the levels
// before it. uninstall removes these containers if they are empty after it has
// removed the hook. So it does not remove an empty container that was there before
// install.
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
	return strings.Join(append([]string{line, event}, holding(event)...), " ")
}

// ours is one of our hooks in a settings text, with its place there.
type ours struct {
	event               string
	hooks, list, inner  int // the offsets at which the hooks object, the event's list and the group's list open
	eventNo, group, own int // the index, in each of these three containers, of the item that is or contains the hook
	command             string
	timeout             any // a float64, unless a person changed it
}

func (h ours) made() int {
	words, _ := shellWords(h.command)
	if i := slices.Index(words, madeFlag); i >= 0 && i+1 < len(words) {
		return max(madeHook, slices.Index(levels, words[i+1]))
	}
	return madeHook
}

// PlanInstall plans to put our hooks into the user's settings; nil stands for no
// file. Every byte that is not ours stays. If settings contain exactly the hooks
// that o describes, the plan changes nothing. Otherwise it replaces all our hooks,
// such as those of an earlier install with another binary. PlanInstall returns an
// error if settings are not a JSON object, or if their hooks have a shape that the
// CLI would refuse.
func PlanInstall(settings []byte, o InstallOptions) (Plan, error) {
	p := Plan{Before: settings, After: settings}
	if err := o.check(); err != nil {
		return p, fmt.Errorf("install hooks: %w", err)
	}
	mark, settings := cutMark(settings)
	present, err := find(settings)
	if err != nil {
		return p, fmt.Errorf("install hooks: settings: %w", err)
	}
	if o.installed(present) {
		return p, nil
	}
	bare := strip(settings)
	after, err := o.add(bare)
	if err != nil {
		return p, fmt.Errorf("install hooks: settings: %w", err)
	}
	p.After = slices.Concat(mark, after)
	p.Changed = true
	p.Added, p.Removed = slices.Clone(o.Events), eventsOf(present)
	return p, nil
}

// PlanUninstall plans to remove our hooks. If nobody else has changed the file
// since PlanInstall, the file is afterwards the same as before, byte for byte; a
// file that install made is removed.
func PlanUninstall(settings []byte) (Plan, error) {
	p := Plan{Before: settings, After: settings}
	mark, settings := cutMark(settings)
	present, err := find(settings)
	if err != nil {
		return p, fmt.Errorf("uninstall hooks: settings: %w", err)
	}
	if len(present) == 0 {
		return p, nil
	}
	p.After, p.Changed, p.Removed = strip(settings), true, eventsOf(present)
	if mark != nil {
		p.After = slices.Concat(mark, p.After)
	}
	return p, nil
}

// Report says which of our hooks a settings file contains.
type Report struct {
	Events       []string // empty: not installed
	Bin, DataDir string   // binary and data directory of the first hook
	Mixed        bool     // not all hooks have the same binary and data directory
}

// Status looks for our hooks in settings; nil stands for no file.
func Status(settings []byte) (Report, error) {
	present, err := find(WithoutMark(settings))
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

// installed reports whether present are exactly the hooks that install would write.
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

// add puts our hooks into settings that contain none of them.
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

// cutMark separates the byte order mark that some editors put before a file. The CLI reads past it, and it stays where it is.
// mark is nil if there is none.
func cutMark(text []byte) (mark, rest []byte) {
	const n = len("\ufeff")
	if !bytes.HasPrefix(text, []byte("\ufeff")) {
		return nil, text
	}
	return text[:n:n], text[n:]
}

// WithoutMark returns the text of a settings file without a byte order mark, as the CLI reads it.
func WithoutMark(text []byte) []byte {
	_, rest := cutMark(text)
	return rest
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

// readOurs returns the command and the timeout of a hook's entry. ok is false if install did not write the entry.
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

// strip removes our hooks from settings that find has accepted.
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

// cut removes the hook h. It then removes the containers around h that install made for h, as long as they are empty.
func (h ours) cut(text []byte) []byte {
	made := h.made()
	text = remove(text, h.inner, h.own)
	if len(items(text, h.inner)) > 0 {
		return text
	}
	text = remove(text, h.list, h.group) // the group is empty now
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
	default: // keep the space before the braces that install made: the file contained only that
		return slices.Clip(text[:root])
	}
}
