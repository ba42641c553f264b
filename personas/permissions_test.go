package personas

import "testing"

func TestParsePermissions(t *testing.T) {
	front := func(line string) []byte {
		return []byte("---\nname: con\ndescription: d\n" + line + "\n---\nWork.\n")
	}
	p, err := Parse("developer-con-1", front(`permissions: {allow: ["Bash(go test *)", Read], deny: ["Bash(git push *)"]}`))
	if err != nil || p.Permissions != (Permissions{Allow: "Bash(go test *)\nRead\n", Deny: "Bash(git push *)\n"}) {
		t.Errorf("%+v %v", p.Permissions, err)
	}
	if p, err := Parse("developer-con-1", front("permissions:")); err != nil || p.Permissions != (Permissions{}) {
		t.Errorf("empty: %+v %v", p.Permissions, err)
	}
	for _, bad := range []string{
		`permissions: yes`, `permissions: {allow: "Bash"}`, `permissions: {allow: ["Bash(x"]}`, `permissions: {allow: ["*"]}`, `permissions: {allow: [""]}`,
		`permissions: {grant: ["Bash"]}`, `permissions: {allow: ["Bash (x)"]}`, `permissions: {deny: [{a: b}]}`, `permissions: {allow: ["*(x)"]}`,
	} {
		if _, err := Parse("developer-con-1", front(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
