// Package orders is what people decide beside the files: overrides of fleets,
// instances, providers and images, orders about single instances, rollouts,
// reservations, and hosts that join. Each is one method with a request of its own.
//
// An order is validated against what was applied, stored with its audit record, and
// noted by a running loop before it is answered. It never calls a provider.
package orders
