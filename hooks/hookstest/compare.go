package hookstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/understudyd/understudy/hooks"
)

// Exception is a known difference between a stand-in and the CLI.
type Exception struct {
	Scene string // "": every scene
	Event string // "": all hooks of the scene and their order
	// Field is a path, such as tool_input.command or background_tasks[0], and includes all paths below it. "" means that
	// the stand-in does not send the hook.
	Field string
	Why   string
}

// Comparison compares the hooks of a stand-in with the recording.
type Comparison struct {
	Recording
	Exceptions []Exception
	// Daemon limits the comparison to what the daemon uses: [hooks.Events], and the fields of
	// [hooks.Payload].
	Daemon bool

	recorder Recorder
	needed   map[Exception]bool
}

// Scene returns what is wrong with a scene that the stand-in has played. Scenes must come in the order of the recording.
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

// onlyDaemon removes the hooks that the daemon does not ask for.
func (c *Comparison) onlyDaemon(s *Scene) {
	s.Hooks = slices.DeleteFunc(slices.Clone(s.Hooks), func(shape Shape) bool { return !slices.Contains(hooks.Events, shape.Event()) })
}

// fields compares the fields of one hook.
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
			continue // an exception never covers a missing field that the daemon reads
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

// excepts reports whether an exception covers a difference, and marks that exception as needed.
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

// covers reports whether path is field or lies below it.
func covers(field, path string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || field != "" && strings.ContainsAny(rest[:1], ".["))
}

// Unneeded returns the exceptions that covered no difference.
func (c *Comparison) Unneeded() (wrong []string) {
	for _, e := range c.Exceptions {
		if !c.needed[e] {
			wrong = append(wrong, fmt.Sprintf("the exception %+v is not needed: remove it", e))
		}
	}
	return wrong
}

// read reports whether the daemon reads a field, or counts the elements of the list that it is in.
func read(path string) bool {
	switch {
	case path == "tool_input.file_path":
		return true
	case strings.ContainsAny(path, ".["):
		return strings.HasSuffix(path, "]") && read(path[:strings.LastIndex(path, "[")])
	}
	// [hooks.Parse] refuses a wrong type only in a field that it reads.
	_, err := hooks.Parse(hooks.Stop, fmt.Appendf(nil, `{%q:{"x":1}}`, path))
	return err != nil
}

// flatten returns the values of a shape by their paths. A list also has an entry for each element.
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
			panic(fmt.Sprintf("hookstest: %v", err)) // the value came from JSON
		}
		out[path] = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(text))
	}
	add("", s)
	return out
}
