package hookstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/understudyd/understudy/hooks"
)

// Exception is something that a stand-in does otherwise than the CLI, knowingly.
type Exception struct {
	Scene string // "": in each
	Event string // "": all hooks of the scene, with their order
	// Field is a path, such as tool_input.command or background_tasks[0], and stands for all below it; "": the stand-in
	// does not send the hook.
	Field string
	Why   string
}

// Comparison holds the hooks of a stand-in against the recording.
type Comparison struct {
	Recording
	Exceptions []Exception
	// Daemon compares only what the daemon asks for and reads: the events of [hooks.KnownEvents], and the fields of
	// [hooks.Payload].
	Daemon bool

	recorder Recorder
	needed   map[Exception]bool
}

// Scene says what is wrong with a scene as the stand-in has played it. Scenes must come in the order of the recording.
func (c *Comparison) Scene(name string, payloads ...[]byte) (wrong []string) {
	want, ok := c.scene(name)
	got, err := c.recorder.Scene(name, payloads...)
	switch {
	case err != nil:
		return []string{err.Error()}
	case !ok:
		return []string{fmt.Sprintf("scene %s is not in the recording", name)}
	}
	if c.Daemon {
		c.onlyDaemon(&want)
		c.onlyDaemon(&got)
	}
	want.Hooks = slices.DeleteFunc(slices.Clone(want.Hooks), func(s Shape) bool {
		return !slices.Contains(got.order(), s.Event()) && c.excepts(Exception{Scene: name, Event: s.Event()})
	})
	if !slices.Equal(got.order(), want.order()) {
		if c.excepts(Exception{Scene: name}) {
			return nil
		}
		return []string{fmt.Sprintf("scene %s: its hooks are\n\t%v, the CLI's are\n\t%v", name, got.order(), want.order())}
	}
	for i, shape := range want.Hooks {
		wrong = append(wrong, c.fields(name, got.Hooks[i], shape)...)
	}
	return wrong
}

func (s Scene) order() (events []string) {
	for _, shape := range s.Hooks {
		events = append(events, shape.Event())
	}
	return events
}

// onlyDaemon leaves what the daemon asks for.
func (c *Comparison) onlyDaemon(s *Scene) {
	asked := hooks.KnownEvents(c.Version)
	s.Hooks = slices.DeleteFunc(slices.Clone(s.Hooks), func(shape Shape) bool { return !slices.Contains(asked, shape.Event()) })
}

// fields compares one hook.
func (c *Comparison) fields(scene string, got, want Shape) (wrong []string) {
	has, wants := flatten(got), flatten(want)
	all := maps.Clone(wants)
	maps.Copy(all, has)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		g, there := has[path]
		w, wanted := wants[path]
		if there == wanted && g == w || c.Daemon && !read(path) {
			continue
		}
		if (!read(path) || there) && c.excepts(Exception{Scene: scene, Event: want.Event(), Field: path}) {
			continue // what the daemon reads must be there
		}
		switch {
		case !wanted:
			g, w = "it is "+g, "the CLI has none"
		case !there:
			g, w = "it is missing", "the CLI's is "+w
		default:
			g, w = "it is "+g, "the CLI's is "+w
		}
		wrong = append(wrong, fmt.Sprintf("scene %s: %s: field %s: %s, %s", scene, want.Event(), path, g, w))
	}
	return wrong
}

// excepts reports whether a difference is known, and notes that its exception is needed.
func (c *Comparison) excepts(found Exception) bool {
	for _, e := range c.Exceptions {
		if (e.Scene == "" || e.Scene == found.Scene) && e.Event == found.Event && covers(e.Field, found.Field) {
			if c.needed == nil {
				c.needed = map[Exception]bool{}
			}
			c.needed[e] = true
			return true
		}
	}
	return false
}

// covers reports whether a path is that of a field or below it.
func covers(field, path string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || field != "" && strings.ContainsAny(rest[:1], ".["))
}

// Unneeded says which exceptions name no difference that there was in the scenes.
func (c *Comparison) Unneeded() (wrong []string) {
	for _, e := range c.Exceptions {
		if !c.needed[e] {
			wrong = append(wrong, fmt.Sprintf("the exception %+v is not needed: remove it", e))
		}
	}
	return wrong
}

// read reports whether the daemon reads a field, or counts what is in it.
func read(path string) bool {
	switch {
	case path == "tool_input.file_path":
		return true
	case strings.ContainsAny(path, ".["):
		return strings.HasSuffix(path, "]") && read(path[:strings.LastIndex(path, "[")])
	}
	// What [hooks.Parse] reads, it refuses with a wrong type.
	_, err := hooks.Parse(hooks.Stop, fmt.Appendf(nil, `{%q:{"x":1}}`, path))
	return err != nil
}

// flatten has the values of a shape by their paths. A list has an entry for each element as well.
func flatten(s Shape) map[string]string {
	out := map[string]string{}
	var add func(path string, value any)
	add = func(path string, value any) {
		switch v := value.(type) {
		case Shape:
			for name, inner := range v {
				add(name, inner)
			}
			return
		case map[string]any:
			for name, inner := range v {
				add(path+"."+name, inner)
			}
			value = "<object>"
		case []any:
			for i, inner := range v {
				add(fmt.Sprintf("%s[%d]", path, i), inner)
			}
			value = "<list>"
		}
		text, err := json.Marshal(value)
		if err != nil {
			panic(fmt.Sprintf("hookstest: %v", err)) // it was JSON
		}
		out[path] = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(text))
	}
	add("", s)
	return out
}
