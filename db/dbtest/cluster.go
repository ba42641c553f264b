package dbtest

import (
	"context"
	"fmt"
	"os"

	"github.com/understudyd/understudy/db/localpg"
)

// inMemory is a folder in memory, on Linux. A cluster takes 40 MB and each
// database 8 MB; containers often give it 64 MB, which is too little.
const (
	inMemory     = "/dev/shm"
	roomInMemory = 1 << 30
)

// startCluster starts a cluster that ends with this process.
func startCluster(ctx context.Context, settings map[string]string) (*localpg.Cluster, error) {
	parent := os.TempDir()
	if freeBytes(inMemory) >= roomInMemory {
		parent = inMemory
	}
	dir, err := os.MkdirTemp(parent, "understudy-test-")
	if err != nil {
		return nil, fmt.Errorf("folder for the test cluster: %w", err)
	}
	cluster, err := localpg.Start(ctx, localpg.Config{Dir: dir, NoSync: true, Temporary: true, Settings: settings})
	if err != nil {
		_ = os.RemoveAll(dir) // it may be gone already
		return nil, err
	}
	return cluster, nil
}

func stopCluster(cluster *localpg.Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return cluster.Stop(ctx)
}
