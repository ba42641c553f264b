package runtimes

import (
	"encoding/json"
	"slices"
	"strings"
)

// Todo is an item of the list of what is still to be done, which a session keeps for itself.
type Todo struct {
	Text   string
	Status TodoStatus
}

// TodoStatus says how far a todo is.
type TodoStatus string

// The states of a todo.
const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoClosed     TodoStatus = "closed" // done, or given up: nothing is left to do
)

// TodoChange is a change of a session's list of todos, as a line of a transcript shows it.
type TodoChange struct {
	Call  string // the id of the call that makes the change, which may still fail; "": the change was made
	Whole bool   // List is the whole list, in place of what was there
	List  []Todo
	// If Whole is false, the change is about one todo. ID is the runtime's own. A field of Todo that is empty stays as it was.
	ID   string
	Todo Todo
	Adds bool // Todo is whole: it is a new one, or replaces the one with this ID
}

// OpenTodos returns the todos that are still to be done after some changes, the oldest change first. It ignores a change of a
// todo that is not known: the CLI refuses such a change, and may not call that an error.
func OpenTodos(changes []TodoChange) []Todo {
	var list []Todo
	at := map[string]int{} // in list, by the todo's id
	for _, c := range changes {
		i, known := at[c.ID]
		switch {
		case c.Whole:
			list, at = slices.Clone(c.List), map[string]int{}
		case known:
			if c.Todo.Text != "" {
				list[i].Text = c.Todo.Text
			}
			if c.Todo.Status != "" {
				list[i].Status = c.Todo.Status
			}
		case c.Adds:
			at[c.ID] = len(list)
			list = append(list, c.Todo)
		}
	}
	return slices.DeleteFunc(list, func(t Todo) bool { return t.Status == TodoClosed || strings.TrimSpace(t.Text) == "" })
}

// TodoStatusNamed returns the state that a runtime names. A state that is not known counts as pending, so that no todo is lost.
func TodoStatusNamed(name string) TodoStatus {
	switch name {
	case "in_progress":
		return TodoInProgress
	case "completed", "cancelled", "abandoned", "deleted":
		return TodoClosed
	}
	return TodoPending
}

// todoItem is a todo in the words of all runtimes: they differ only in what they call its text.
type todoItem struct {
	Content     string `json:"content"`     // Claude Code's TodoWrite, OpenCode and oh-my-pi
	Step        string `json:"step"`        // Codex
	Description string `json:"description"` // Gemini CLI
	Status      string `json:"status"`
}

// TodoList reads a JSON list of todos; ok is false if raw is none.
func TodoList(raw []byte) (list []Todo, ok bool) {
	var items []todoItem
	if json.Unmarshal(raw, &items) != nil || items == nil {
		return nil, false
	}
	for _, it := range items {
		list = append(list, Todo{Text: FirstOf(it.Content, it.Step, it.Description), Status: TodoStatusNamed(it.Status)})
	}
	return list, true
}

// List notes that a call gives the whole list of todos, as JSON.
func (m *Message) List(call string, raw []byte) {
	if list, ok := TodoList(raw); ok {
		m.Todos = append(m.Todos, TodoChange{Call: call, Whole: true, List: list})
	}
}
