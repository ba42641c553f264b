package yamlfile

import (
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// ParseFront reads the front matter of a Markdown file. If it is not YAML, ParseFront reads it once more as Claude Code reads the
// files of its agents: a value that is no YAML by itself is the text as it stands, such as a description with a colon in it, and
// the lines that are indented below it belong to it. Its error is that of the front matter as it stands.
func ParseFront(b []byte, of string) (Value, error) {
	v, err := Parse(b, of)
	if err == nil && v.Kind == yaml.MappingNode {
		return v, nil
	}
	again, lenient := Parse([]byte(quoteValues(string(b))), of)
	if lenient != nil || again.Kind != yaml.MappingNode {
		return v, err
	}
	return again, nil
}

// frontLine matches a line with a key and a value that begins in it and is no block.
var frontLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*):[ \t]+([^ \t|>].*)$`) })

// quoteValues puts quotes around the values that are no YAML by themselves. Each line stays where it is.
func quoteValues(text string) string {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		m := frontLine().FindStringSubmatch(strings.TrimRight(lines[i], " \t\r"))
		if m == nil {
			continue
		}
		value, below := m[2], i+1
		for ; below < len(lines) && strings.TrimSpace(lines[below]) != "" && strings.IndexByte(" \t", lines[below][0]) >= 0; below++ {
			value += " " + strings.TrimSpace(lines[below])
		}
		if docs, err := documents([]byte("k: " + m[2])); err == nil && below == i+1 && docs[0].Content[0].Kind == yaml.MappingNode && docs[0].Content[0].Content[1].Kind != yaml.MappingNode {
			continue
		}
		lines[i] = m[1] + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
		for j := i + 1; j < below; j++ {
			lines[j] = ""
		}
		i = below - 1
	}
	return strings.Join(lines, "\n")
}
