package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// lastOf is how long a plugin may outlive its host.
const lastOf = 5 * time.Second

var hostRules = []Rule{
	{
		Name: "ends-with-its-host", check: endsWithItsHost, Process: true,
		Says: "When the host dies, the plugin's process group and its socket are gone within 5 seconds.",
	},
}

func endsWithItsHost(ctx context.Context, b *bench) error {
	if _, err := b.ready(ctx); err != nil {
		return err
	}
	orphan, can := b.running.(Orphan)
	if !can {
		return errors.New("the launcher can't take its host away")
	}
	left, err := orphan.LoseHost(ctx, lastOf)
	b.collect()
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%s after the host's death there is still: %s", lastOf, strings.Join(left, ", "))
	}
	return nil
}
