package transcript

import (
	"slices"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

const (
	maxTodos       = 200    // open todos that Read returns
	maxTodoChanges = 10_000 // changes of single todos that are read, the newest ones
	maxTodoSize    = 1000   // the length of a todo, in bytes
)

// todoList collects the changes of a session's list of todos.
type todoList struct {
	newest []runtimes.TodoChange // the newest first
	known  bool                  // nothing older can change the list
}

// add adds the changes of one entry, unless their call failed. It gets the entries of a transcript newest first.
func (l *todoList) add(changes []runtimes.TodoChange, failed map[string]bool) {
	for _, c := range slices.Backward(changes) {
		if l.known || failed[c.Call] {
			continue
		}
		c.Todo = cutTodo(c.Todo)
		for i := range c.List {
			c.List[i] = cutTodo(c.List[i])
		}
		l.newest = append(l.newest, c)
		l.known = c.Whole || len(l.newest) == maxTodoChanges
	}
}

// open returns the first maxTodos todos that are open, and how many there are.
func (l *todoList) open() (list []data.Todo, all int) {
	slices.Reverse(l.newest)
	open := runtimes.OpenTodos(l.newest)
	for _, t := range open[:min(len(open), maxTodos)] {
		list = append(list, data.Todo{Text: t.Text, Status: string(t.Status)})
	}
	return list, len(open)
}

// cutTodo cuts a text that is too long, and marks that it goes on.
func cutTodo(t runtimes.Todo) runtimes.Todo {
	const mark = "…"
	if len(t.Text) > maxTodoSize {
		end := maxTodoSize - len(mark)
		for end > 0 && t.Text[end]&0xC0 == 0x80 { // inside a character
			end--
		}
		t.Text = t.Text[:end] + mark
	}
	return t
}

// Effort returns the thinking level of the newest answer in the last 8 MB of a transcript; "": it tells none.
func Effort(rt *runtimes.Runtime, path string) (string, error) {
	e, err := newest(rt, path, func(e runtimes.Entry) bool { return e.Effort != "" })
	return e.Effort, err
}
