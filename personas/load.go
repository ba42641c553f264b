package personas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/understudyd/understudy/data/trust"
)

// archive is the folder of archived personas.
const archive = ".archive"

// load reads the persona in the folder parent/slug below root. It returns fs.ErrNotExist if there
// is no such folder. Any fault of the persona's files becomes the persona's Problem.
func (s *Store) load(root *os.Root, parent, slug string) (Persona, error) {
	name := path.Join(parent, slug)
	info, err := root.Lstat(name)
	if err != nil {
		return Persona{}, err
	}
	parts, err := ParseSlug(slug)
	if err != nil {
		return Persona{}, err
	}
	p := Persona{
		Slug: slug, Role: parts.Role, Name: parts.Name, N: parts.N,
		Dir: filepath.Join(root.Name(), name), Archived: parent == archive,
	}
	if err := p.read(root, name, info, &s.parsed); err != nil {
		p.Problem = fmt.Sprintf("Persona %s can't be used: %v", slug, err)
	}
	return p, nil
}

// read reads the files in the folder. Its error says why the persona can't be used.
func (p *Persona) read(root *os.Root, name string, named fs.FileInfo, known *memo[Persona]) error {
	if named.Mode()&fs.ModeSymlink != 0 {
		return errors.New("its folder is a symbolic link: move the folder itself here")
	}
	if !named.IsDir() {
		return errors.New("it is not a folder: remove it")
	}
	if err := trust.CheckInfo(p.Dir, named); err != nil {
		return err
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(named, opened) {
		return errors.Join(errors.New("its folder was replaced while it was read"), err)
	}
	p.Handoffs, p.Former = countHandoffs(dir), strings.Join(slices.DeleteFunc(readFormer(dir), func(s string) bool { return s == p.Slug }), ",")
	experience, cut, experienceErr := readEnd(dir, "experience.md", maxExperience)
	if errors.Is(experienceErr, fs.ErrNotExist) {
		experienceErr = nil // the persona has no experience yet
	}
	// Replace bad bytes: agents write experience.md, and a bad byte must not make the persona unusable.
	p.Experience, p.ExperienceCut = strings.ToValidUTF8(string(experience), "\uFFFD"), cut

	skill, info, err := readFile(dir, "skill.md")
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it has no skill.md: write one or archive the persona")
	}
	if err != nil {
		return err
	}
	if err := trust.CheckInfo(filepath.Join(p.Dir, "skill.md"), info); err != nil {
		return err
	}
	p.ModTime = info.ModTime()
	parsed, err := known.parse(p.Slug, string(skill), func() (Persona, error) { return Parse(p.Slug, skill) })
	if err != nil {
		p.SkillFile = strings.ToValidUTF8(string(skill), "\uFFFD")
		return err
	}
	// All that the text says, and what only the folder says.
	parsed.ExperienceCut = p.ExperienceCut
	parsed.Experience, parsed.Dir, parsed.Handoffs, parsed.Archived, parsed.ModTime, parsed.Former = p.Experience, p.Dir, p.Handoffs, p.Archived, p.ModTime, p.Former
	*p = parsed
	return experienceErr
}

// readFile reads a regular file of a persona or a template.
func readFile(dir *os.Root, name string) ([]byte, fs.FileInfo, error) {
	f, info, err := openFile(dir, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, fileError(name, err)
	}
	if len(b) > maxFile {
		return nil, nil, fmt.Errorf("%s has %d bytes and the limit is %d", name, max(info.Size(), maxFile+1), maxFile)
	}
	return b, info, nil
}

// readEnd reads the end of a file, limit bytes at most, from the beginning of a line where it can. cut is how many bytes stand before it.
func readEnd(dir *os.Root, name string, limit int64) (text []byte, cut int64, err error) {
	f, info, err := openFile(dir, name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	cut = max(0, info.Size()-limit)
	text, err = io.ReadAll(io.NewSectionReader(f, cut, limit))
	if err != nil {
		return nil, 0, fileError(name, err)
	}
	if line := bytes.IndexByte(text, '\n'); cut > 0 && line >= 0 && line+1 < len(text) {
		text, cut = text[line+1:], cut+int64(line)+1
	}
	return text, cut, nil
}

// openFile opens a regular file of a persona or a template. The file may be a link that stays in its folder.
// openFile calls Stat before it opens the file, so that it opens no device. If a fifo takes the file's place
// after the Stat, O_NONBLOCK keeps the open from blocking.
func openFile(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := dir.Stat(name)
	if err != nil {
		return nil, nil, fileError(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fileError(name, err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, nil, fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, fileError(name, err)
	}
	return f, info, nil
}

// fileError makes an error that names the file, without the path that the system's error also has. If
// err is not from the system, it is os.Root's refusal to leave the folder, for which os exports no error.
func fileError(name string, err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("%s is a link that leads out of its folder: put the file itself there", name)
	}
	return fmt.Errorf("%s: %w", name, errno)
}

// countHandoffs counts the handoff documents. It skips the context files and the request files beside
// them.
func countHandoffs(dir *os.Root) int {
	entries, err := readDir(dir, "handoffs")
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if e.Type().IsRegular() && isDocument(e.Name()) && !strings.HasSuffix(e.Name(), ".context.md") && !strings.HasSuffix(e.Name(), ".request.md") {
			n++
		}
	}
	return n
}

// isDocument reports whether a name is the name of a Markdown file, and not of a temporary file of an editor.
func isDocument(name string) bool {
	return strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "#")
}

// readDir lists a folder below root, sorted by name. It fails if name is a symbolic link or a file.
func readDir(root *os.Root, name string) ([]fs.DirEntry, error) {
	if name != "." {
		info, err := root.Lstat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, &fs.PathError{Op: "list", Path: filepath.Join(root.Name(), name), Err: syscall.ENOTDIR}
		}
	}
	return fs.ReadDir(root.FS(), name)
}
