package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/forgeyard/forgeyard-fleet/core/config/diagnostic"
	"github.com/forgeyard/forgeyard-fleet/core/config/suggestion"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// removal is where a removed block names its fleet.
type removal struct {
	where string
	at    hcl.Range
}

// RemovesNothing warns of removed blocks for fleets that aren't among the known
// ones: they never were, or are gone already.
func (l *Loaded) RemovesNothing(known []fleet.FleetAddress) diagnostic.List {
	report := l.document.SameTexts()
	names := make([]string, len(known))
	for n, address := range known {
		names[n] = string(address)
	}
	for _, address := range l.Definition.Removed {
		if slices.Contains(known, address) {
			continue
		}
		detail := "It is gone already, or never was; the block can be deleted."
		if near := suggestion.Nearest(string(address), names); near != "" {
			detail += fmt.Sprintf(" Did you mean %s?", near)
		}
		report.Warn(
			l.removed[address].at,
			l.removed[address].where,
			fmt.Sprintf("No fleet %s to remove", fleetText(address)),
			detail,
		)
	}
	return report.Sorted()
}

// readRemoved reads the removed blocks: removal is written down, never inferred
// from what a file no longer mentions.
func (l *loader) readRemoved(blocks []*body) {
	first := map[fleet.FleetAddress]*body{}
	for _, block := range blocks {
		var written removedBlock
		block.read(&written)
		block.close()
		if !block.given("from") {
			continue
		}
		address, attribute := written.From, block.syntax.Attributes["from"]
		switch before := first[address]; {
		case l.fleetBlocks[address] != nil:
			l.Fail(attribute.Expr.Range(), block.where, fmt.Sprintf("The fleet %s is declared and removed", fleetText(address)),
				fmt.Sprintf("Delete the block fleet %q, or this removed block.", address.Block()))
		case before != nil:
			l.Fail(attribute.Expr.Range(), block.where, fmt.Sprintf("The fleet %s is removed twice", fleetText(address)),
				fmt.Sprintf("The first removed block is at %s. Delete one of them.", diagnostic.Place(before.header)))
		default:
			first[address] = block
			l.removals[address] = removal{block.where, attribute.Expr.Range()}
			l.definition.Removed = append(l.definition.Removed, address)
		}
	}
	slices.Sort(l.definition.Removed)
}

// fleetText is a fleet as messages call it.
func fleetText(address fleet.FleetAddress) string {
	if address.Key() == "" {
		return fmt.Sprintf("%q", address.Block())
	}
	return address.Name()
}

// moveBlock is a moved block before chains are followed.
type moveBlock struct {
	*body
	from, to fleet.FleetAddress
	at       *hclsyntax.Attribute
}

// readMoved reads the moved blocks. Old ones may stay: a → b and b → c together
// lead from both to c.
func (l *loader) readMoved(blocks []*body) {
	moves := map[fleet.FleetAddress]*moveBlock{}
	var order []*moveBlock
	for _, block := range blocks {
		var written movedBlock
		block.read(&written)
		block.close()
		if !block.given("from") || !block.given("to") {
			continue
		}
		from, to := written.From, written.To
		fromAt, toAt := block.syntax.Attributes["from"], block.syntax.Attributes["to"]
		switch before := moves[from]; {
		case from == to:
			l.Fail(
				toAt.Expr.Range(),
				block.where,
				"A fleet can't be moved to itself",
				"from is the old address, to the new one.",
			)
		case before != nil:
			l.Fail(fromAt.Expr.Range(), block.where, fmt.Sprintf("The fleet %s is moved twice", fleetText(from)),
				fmt.Sprintf("The first moved block is at %s. Delete one of them.", diagnostic.Place(before.header)))
		case l.fleetBlocks[from] != nil:
			l.Fail(
				fromAt.Expr.Range(),
				block.where,
				fmt.Sprintf("The fleet %s is declared and moved away", fleetText(from)),
				fmt.Sprintf(
					"A moved fleet is declared only under its new address. Rename the block fleet %q, or delete this moved block.",
					from.Block(),
				),
			)
		case slices.Contains(l.definition.Removed, from):
			l.Fail(
				fromAt.Expr.Range(),
				block.where,
				fmt.Sprintf("The fleet %s is moved and removed", fleetText(from)),
				"Delete the moved block, or the removed block.",
			)
		default:
			one := &moveBlock{body: block, from: from, to: to, at: toAt}
			moves[from] = one
			order = append(order, one)
		}
	}
	l.followMoves(order, moves)
}

// followMoves resolves chains and reports where they lead to nothing.
func (l *loader) followMoves(order []*moveBlock, moves map[fleet.FleetAddress]*moveBlock) {
	type resolved struct {
		fleet.Move
		steps int
	}
	var result []resolved
	into := map[fleet.FleetAddress]*moveBlock{}
	for _, one := range order {
		if before := into[one.to]; before != nil {
			l.Fail(
				one.at.Expr.Range(),
				one.where,
				fmt.Sprintf("Two fleets are moved to %s", one.to),
				fmt.Sprintf(
					"The first moved block is at %s. A fleet takes over the instances of one other; remove the other one with a "+
						"removed block.",
					diagnostic.Place(before.header),
				),
			)
			continue
		}
		into[one.to] = one
		target, steps := one.to, 1
		for next := moves[target]; next != nil && steps <= len(order); next = moves[target] {
			target = next.to
			steps++
		}
		if steps > len(order) {
			l.reportMoveCycle(one, moves)
			continue
		}
		if l.fleetBlocks[target] == nil {
			if !slices.Contains(l.definition.Removed, target) && moves[one.to] == nil {
				l.Fail(one.at.Expr.Range(), one.where, fmt.Sprintf("Unknown fleet %s", fleetText(target)), l.moveTargets(target))
			}
			continue
		}
		result = append(result, resolved{fleet.Move{From: one.from, To: target}, steps})
	}
	slices.SortFunc(result, func(a, b resolved) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(b.steps, a.steps), cmp.Compare(a.From, b.From))
	})
	for _, one := range result {
		l.definition.Moved = append(l.definition.Moved, one.Move)
	}
}

// reportMoveCycle names a circle once, at the move whose from is first in the
// alphabet.
func (l *loader) reportMoveCycle(start *moveBlock, moves map[fleet.FleetAddress]*moveBlock) {
	at := start
	for range moves { // into the circle
		at = moves[at.to]
	}
	circle := []fleet.FleetAddress{at.from}
	for next := moves[at.to]; next != at; next = moves[next.to] {
		circle = append(circle, next.from)
	}
	first := slices.Index(circle, slices.Min(circle))
	ordered := append(slices.Concat(circle[first:], circle[:first]), circle[first])
	chain := make([]string, len(ordered))
	for i, address := range ordered {
		chain[i] = string(address)
	}
	block := moves[ordered[0]]
	l.Fail(
		block.header,
		block.where,
		"These fleets are moved in a cycle",
		strings.Join(chain, " → ")+". Delete the moved blocks that have been applied.",
	)
}

// moveTargets is a hint at the addresses that there are.
func (l *loader) moveTargets(target fleet.FleetAddress) string {
	var keyed, all []string
	for address := range l.fleetBlocks {
		if address.Block() == target.Block() {
			keyed = append(keyed, string(address))
		}
		all = append(all, string(address))
	}
	if len(keyed) > 0 && target.Key() != "" && fleet.FleetAddress(keyed[0]).Key() == "" {
		return fmt.Sprintf("The block fleet %q has no for_each. Write: to = %s.", target.Block(), keyed[0])
	}
	if len(keyed) > 0 {
		return fmt.Sprintf("The block fleet %q has for_each. Write to = %s, for example.", target.Block(), slices.Min(keyed))
	}
	return strings.TrimSpace(suggestion.For(string(target), "fleets", all) + " A fleet is moved to one that is declared.")
}
