package words

import "strings"

// Home writes a path below a home directory with ~ in its place. home may be "".
func Home(path, home string) string {
	home = strings.TrimSuffix(home, "/")
	if rest, ok := strings.CutPrefix(path, home); ok && home != "" && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return path
}

// Where writes the directory that an agent works in, and what is checked out there: "~/src/shop main". It names the
// repository as well if the directory does not: "~/trees/fix shop:main".
func Where(directory, repository, branch string) string {
	if repository != "" && !strings.Contains("/"+directory+"/", "/"+repository+"/") {
		branch = Join(":", repository, branch)
	}
	return Join(" ", directory, branch)
}
