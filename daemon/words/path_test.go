package words_test

import (
	"testing"

	"github.com/understudyd/understudy/daemon/words"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"~/src", words.Home("/srv/ann/src", "/srv/ann/")}, {"~", words.Home("/srv/ann", "/srv/ann")}, {"/srv/anna", words.Home("/srv/anna", "/srv/ann")}, {"/x", words.Home("/x", "")},
		{"~/src/shop main", words.Where("~/src/shop", "shop", "main")}, {"~/src/shop/web main", words.Where("~/src/shop/web", "shop", "main")},
		{"/trees/fix shop:main", words.Where("/trees/fix", "shop", "main")}, {"/tmp", words.Where("/tmp", "", "")}, {"/tmp shop", words.Where("/tmp", "shop", "")},
	} {
		equal(t, "c[0]", c[0], c[1])
	}
}
