package hooks

import "fmt"

// Broken says which hooks of a settings file have a shape that the CLI refuses, so that it asks the user at each start: each
// names the hook's place and what is wrong. Nobody but its owner mends such a hook, so install and uninstall leave it alone.
func Broken(settings []byte) (list []string, err error) {
	text := WithoutMark(settings)
	if blank(text) {
		return nil, nil
	}
	if err := checkObject(text); err != nil {
		return nil, err
	}
	all, ok := member(text, skipSpace(text, 0), "hooks")
	switch {
	case !ok:
		return nil, nil
	case text[all.value] != '{':
		return []string{"hooks is not an object"}, nil
	}
	for _, event := range items(text, all.value) {
		at := "hooks." + event.key
		if text[event.value] != '[' {
			list = append(list, at+" is not a list")
			continue
		}
		for i, group := range items(text, event.value) {
			list = append(list, brokenGroup(text, group, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	return list, nil
}

func brokenGroup(text []byte, group item, at string) (list []string) {
	if text[group.value] != '{' {
		return []string{at + " is not an object with matcher and hooks"}
	}
	if matcher, ok := member(text, group.value, "matcher"); ok && text[matcher.value] != '"' {
		list = append(list, at+".matcher is not a text")
	}
	inner, ok := member(text, group.value, "hooks")
	if !ok || text[inner.value] != '[' {
		return append(list, at+" has no list hooks")
	}
	for i, entry := range items(text, inner.value) {
		if why := brokenEntry(text, entry); why != "" {
			list = append(list, fmt.Sprintf("%s.hooks[%d] %s", at, i, why))
		}
	}
	return list
}

// brokenEntry says what is wrong with one hook; "": nothing is.
func brokenEntry(text []byte, entry item) string {
	if text[entry.value] != '{' {
		return "is not an object"
	}
	kind, ok := member(text, entry.value, "type")
	if !ok || text[kind.value] != '"' {
		return "has no type"
	}
	if command, ok := member(text, entry.value, "command"); string(text[kind.value:kind.end]) == `"command"` && (!ok || text[command.value] != '"') {
		return "has no command"
	}
	if timeout, ok := member(text, entry.value, "timeout"); ok && (text[timeout.value] < '0' || text[timeout.value] > '9') {
		return "has a timeout that is not a number of seconds"
	}
	return ""
}
