package intake

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
)

// TestDecisionsHaveValuesOnly: what decides inside a hook's transaction can reach no file, process, clock or lock, whatever it calls: nothing
// that it has is a function, a channel, an interface or a lock, however deep. A runtime's table has functions; they compute.
func TestDecisionsHaveValuesOnly(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{reflect.TypeFor[time.Time](): true, reflect.TypeFor[runtimes.Runtime](): true, reflect.TypeFor[error](): true}
	var walk func(where string, typ reflect.Type)
	walk = func(where string, typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
			t.Errorf("%s is a %s", where, typ)
		case reflect.Map:
			walk(where+"'s key", typ.Key())
			walk(where+"'s value", typ.Elem())
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(where, typ.Elem())
		case reflect.Struct:
			if strings.HasPrefix(typ.PkgPath(), "sync") || typ == reflect.TypeFor[Daemon]() {
				t.Errorf("%s is a %s", where, typ)
				return
			}
			for i := range typ.NumField() {
				walk(where+"."+typ.Field(i).Name, typ.Field(i).Type)
			}
		}
	}
	walk("hookStep", reflect.TypeFor[hookStep]())
}

// TestDecisionsOpenNoFile: a hook is decided without a file of the persona's being opened, although the persona says what holds. For a
// persona that the snapshot lacks, the file is read before the transaction that counts.
func TestDecisionsOpenNoFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	people := value(personas.Open(root))(t)
	dir := filepath.Join(root, "developer-con-1")
	skill := "---\ndescription: x\nauto: 40\nnotify_finished: on\npermissions:\n  allow: [\"Bash(ls:*)\"]\n---\nYou are a developer.\n"
	must(t, os.MkdirAll(filepath.Join(dir, "handoffs"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "skill.md"), []byte(skill), 0o600))
	for _, known := range []bool{false, true} {
		if known {
			must(t, people.Refresh())
		}
		h := hookedAgent(t)
		h.agent.Persona, h.agent.Managed, h.agent.State = new("developer-con-1"), true, daemon.Working
		d := New(engine.Config{Host: "h", Personas: people})
		watch := value(unix.InotifyInit1(unix.IN_NONBLOCK))(t)
		defer func() { _ = unix.Close(watch) }()
		for _, path := range []string{dir, filepath.Join(dir, "handoffs")} {
			value(unix.InotifyAddWatch(watch, path, unix.IN_OPEN))(t)
		}
		for _, e := range []string{"PermissionRequest", "PreCompact", "PostToolUse", "Stop"} {
			p := hooks.Payload{Event: e, Trigger: "auto", ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`)}
			p.Context.Tokens, p.Context.Limit = 100_000, 200_000
			step := hookStep{Facts: *d.Facts(), p: p, in: daemon.HookInput{Key: "k", Event: e, PID: h.agent.PID, At: h.at}, tx: daemon.HookTx{HookID: 9, Agent: h.agent}}
			step.decide()
			if opened, err := unix.Read(watch, make([]byte, 4096)); err == nil {
				t.Errorf("known %t, %s: opened, %d bytes of notes", known, e, opened)
			}
			if asks := step.Open != nil && step.Open.Persona != ""; asks == known && (e == "PreCompact" || e == "PostToolUse") {
				t.Errorf("known %t, %s: it asks %+v", known, e, step.Open)
			}
		}
	}
}
