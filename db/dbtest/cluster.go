package dbtest

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/db/localpg"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// startCluster starts a cluster that ends with this process. Its folder is removed then, if the
// caller has not removed it before.
func startCluster(ctx context.Context, settings map[string]string) (cluster *localpg.Cluster, dir string, err error) {
	if dir, err = wardentest.Folder(wardentest.Memory()); err != nil {
		return nil, "", fmt.Errorf("folder for the test cluster: %w", err)
	}
	cluster, err = localpg.Start(ctx, localpg.Config{Dir: dir, NoSync: true, Settings: settings})
	return cluster, dir, err
}

func stopCluster(cluster *localpg.Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return cluster.Stop(ctx)
}
