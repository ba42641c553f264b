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

// todoStatus returns the state that a runtime names. A state that is not known counts as pending, so that no todo is lost.
func todoStatus(name string) TodoStatus {
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

// todoList reads a JSON list of todos; ok is false if raw is none.
func todoList(raw []byte) (list []Todo, ok bool) {
	var items []todoItem
	if json.Unmarshal(raw, &items) != nil || items == nil {
		return nil, false
	}
	for _, it := range items {
		list = append(list, Todo{Text: firstOf(it.Content, it.Step, it.Description), Status: todoStatus(it.Status)})
	}
	return list, true
}

// noteTodos adds the change that a call of a tool makes: TodoWrite gives the whole list, TaskUpdate changes one todo. What
// TaskCreate makes is in its result, which has the id.
func (m *message) noteTodos(call, tool string, in todoInput) {
	switch tool {
	case "TodoWrite":
		if list, ok := todoList(in.list); ok {
			m.todos = append(m.todos, TodoChange{Call: call, Whole: true, List: list})
		}
	case "TaskUpdate":
		c := TodoChange{Call: call, ID: in.id, Todo: Todo{Text: firstOf(in.subject)}}
		if in.status != "" {
			c.Todo.Status = todoStatus(in.status)
		}
		if c.ID != "" {
			m.todos = append(m.todos, c)
		}
	}
}

// todoInput has the fields of a call's input that are about todos.
type todoInput struct {
	list                []byte // JSON
	id, subject, status string
}

// readTodoResult reads the result of TaskCreate, or of TaskGet, as Claude Code notes it beside the text for the model.
func readTodoResult(s *skim) (c TodoChange, ok bool) {
	c.Adds = true
	status := ""
	s.object(func(key string) {
		if key == "task" {
			s.object(func(key string) {
				switch key {
				case "id":
					c.ID = s.text()
				case "subject":
					c.Todo.Text = firstOf(s.text())
				case "status":
					status = s.text()
				}
			})
		}
	})
	c.Todo.Status = todoStatus(status)
	return c, c.ID != "" && c.Todo.Text != ""
}

// codexPlan adds the plan that a call of update_plan gives.
func (m *message) codexPlan(p codexPayload) {
	var in struct {
		Plan json.RawMessage `json:"plan"`
	}
	if p.name != "update_plan" || json.Unmarshal([]byte(p.arguments), &in) != nil {
		return
	}
	if list, ok := todoList(in.Plan); ok {
		m.todos = append(m.todos, TodoChange{Call: p.call, Whole: true, List: list})
	}
}

// readOmpTodos reads the details of a result of oh-my-pi's tool todo: the whole list, in phases.
func readOmpTodos(s *skim) (c TodoChange, ok bool) {
	c.Whole = true
	s.object(func(key string) {
		if key != "phases" {
			return
		}
		ok = true
		s.array(func() {
			s.object(func(key string) {
				if key == "tasks" {
					list, _ := todoList(s.raw())
					c.List = append(c.List, list...)
				}
			})
		})
	})
	return c, ok
}
