package db

import "testing"

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, version := range []string{"1", "1", "2"} {
		must(t, db.Heartbeat(t.Context(), Host{ID: "h1", Name: "one", Version: version}))
	}
	hosts := value(db.Hosts(t.Context()))(t)
	if len(hosts) != 1 || hosts[0].Version != "2" || hosts[0].Name != "one" ||
		hosts[0].LastSeen.IsZero() || !hosts[0].StartedAt.Equal(hosts[0].LastSeen) {
		t.Errorf("hosts %+v", hosts)
	}
}
