package localpg

// settings returns the server's settings as arguments of its command line. They
// are not stored in the cluster, so that a new release changes them for old
// clusters as well. They suit one daemon and a person with psql. Measured: the
// idle server uses 16 to 24 MB, and each busy connection 1.6 MB.
func (c *Cluster) settings() []string {
	values := []string{
		"cluster_name=" + c.name,
		"listen_addresses=",
		"port=" + port,
		// Relative to the data folder, because a socket address holds 107 bytes.
		"unix_socket_directories=../sock",
		"unix_socket_permissions=0700",
		"max_connections=40",
		"shared_buffers=16MB",
		// Do not put shared memory into /dev/shm: containers limit it to 64 MB,
		// and logind empties it when the user logs out.
		"dynamic_shared_memory_type=mmap",
		"wal_level=minimal",
		"max_wal_senders=0",
		"min_wal_size=16MB",
		"max_wal_size=256MB",
		"max_worker_processes=2",
		"max_parallel_workers=0",
		"autovacuum_max_workers=1",
		"jit=off",
		"logging_collector=off",
		"log_checkpoints=off",
		"log_line_prefix=%m [%p] ",
	}
	if c.config.NoSync {
		values = append(values, "fsync=off", "full_page_writes=off")
	}
	for name, value := range c.config.Settings {
		values = append(values, name+"="+value)
	}
	args := make([]string, 0, 2*len(values))
	for _, value := range values {
		args = append(args, "-c", value)
	}
	return args
}
