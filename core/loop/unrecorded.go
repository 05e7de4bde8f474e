package loop

import (
	"context"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/inventory"
	"github.com/forgeyard/forgeyard-fleet/core/store"
)

// classifyUnrecorded finds out what each listed resource is that no live instance
// accounts for, once for every complete inspection.
func (l *Loop) classifyUnrecorded(ctx context.Context, w *step) error {
	for _, address := range l.providerAddresses() {
		p := l.providers[address]
		if !p.ClassificationDue() {
			continue
		}
		err := p.Classify(l.owner(), inventory.Records{
			Provider: address, Instances: w.instancesOf(address), Fleets: w.fleets, OrphanGrace: l.settings.OrphanGrace,
			Live: func(key fleet.OperationID) bool { return w.liveWithKey(key) != nil },
			Recall: func(keys []fleet.OperationID, ids []fleet.CapacityInstanceID) ([]store.Recalled, error) {
				return l.store.Recall(ctx, keys, ids)
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// liveWithKey is the live instance of a key; nil: there is none.
func (w *step) liveWithKey(key fleet.OperationID) *fleet.CapacityInstance {
	if r := w.byKey[key]; r != nil && r.Live() {
		return &r.CapacityInstance
	}
	return nil
}

// shownUnrecorded is what people may see of a provider's unrecorded resources. What
// this step took onto the books is left out.
func (w *step) shownUnrecorded(p *inventory.Provider) fleet.Unrecorded {
	return p.Shown(func(u inventory.Unrecorded) bool {
		return w.liveWithKey(u.Key) != nil && u.Classification == fleet.Orphan || w.adopted(u.Provider, u.ID)
	})
}

func (w *step) adopted(address fleet.ProviderAddress, id fleet.ProviderInstanceRef) bool {
	return slices.ContainsFunc(w.rows, func(r *row) bool {
		return r.Adopted != "" && r.Live() && r.Provider == address && r.ProviderInstance == id
	})
}
