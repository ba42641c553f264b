package personas

import "testing"

func TestParsePermissions(t *testing.T) {
	front := func(line string) []byte {
		return []byte("---\nname: con\ndescription: d\n" + line + "\n---\nWork.\n")
	}
	p := value(Parse("developer-con-1", front(`permissions: {allow: ["Bash(git log *)", Read], deny: ["Bash(git push *)"]}`)))(t)
	equal(t, "permissions", p.Permissions, Permissions{Allow: "Bash(git log *)\nRead\n", Deny: "Bash(git push *)\n"})
	equal(t, "empty", value(Parse("developer-con-1", front("permissions:")))(t).Permissions, (Permissions{}))
	for _, bad := range []string{
		`permissions: yes`, `permissions: {allow: "Bash"}`, `permissions: {allow: ["Bash(x"]}`, `permissions: {allow: ["*"]}`, `permissions: {allow: [""]}`,
		`permissions: {grant: ["Bash"]}`, `permissions: {allow: ["Bash (x)"]}`, `permissions: {deny: [{a: b}]}`, `permissions: {allow: ["*(x)"]}`,
	} {
		failed(Parse("developer-con-1", front(bad)))(t, bad+" is accepted")
	}
}
