package fleet

// Move is a moved block: the fleet that was at From is the one at To now, with
// its id and its instances. Of a chain a → b → c there are a → c and b → c.
type Move struct {
	From FleetAddress `json:"from"`
	To   FleetAddress `json:"to"`
}

// MovesFrom are the moves that do something to an installation that has the
// fleets of old: From exists and To doesn't yet. Each fleet moves once and each
// address is moved to once; of two that a chain leads to one address, the one
// with fewer steps left moves, which Moved lists later.
func (d Definition) MovesFrom(old Definition) []Move {
	exists := map[FleetAddress]bool{}
	for _, f := range old.Fleets {
		exists[f.Address] = true
	}
	var moves []Move
	taken := map[FleetAddress]bool{}
	for i := len(d.Moved) - 1; i >= 0; i-- {
		move := d.Moved[i]
		if exists[move.From] && !exists[move.To] && !taken[move.To] {
			taken[move.To] = true
			moves = append(moves, move)
		}
	}
	return moves
}
