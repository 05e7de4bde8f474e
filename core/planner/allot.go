package planner

// allot gives each want, in their order, instances of the fleets that it may have
// them from, with at most room in each fleet. What one got before is moved to
// another fleet where that lets a later one have more, and never taken away: so
// the first is served first, and no one is refused what could be had. It is a
// maximum flow by shortest augmenting paths. given is by want and fleet.
func allot(wants []want, room []int) (given [][]int, missing []int) {
	given, missing = make([][]int, len(wants)), make([]int, len(wants))
	free := make([]int, len(room))
	copy(free, room)
	for n := range wants {
		given[n] = make([]int, len(room))
	}
	for n, w := range wants {
		missing[n] = w.quantity
		for missing[n] > 0 {
			path := pathToRoom(wants, given, free, n)
			if path == nil {
				break
			}
			missing[n] -= push(path, given, free, missing[n])
		}
	}
	return given, missing
}

// hop is one step of a path: the want takes instances of a fleet, which the want
// before it on the path gave up there.
type hop struct{ want, fleet int }

// pathToRoom finds the shortest way for a want to get one more instance: a fleet
// with room, or one where another want can be moved on. Nil: there is none.
func pathToRoom(wants []want, given [][]int, free []int, from int) []hop {
	reached := make([]hop, len(free)) // the hop by which a fleet was reached
	seen := make([]bool, len(free))
	cameBy := make([]int, len(wants)) // the fleet over which a want was reached
	for n := range cameBy {
		cameBy[n] = -1
	}
	queue, queued := []int{from}, map[int]bool{from: true}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		for _, f := range wants[w].fleets {
			if seen[f] {
				continue
			}
			seen[f], reached[f] = true, hop{w, f}
			if free[f] > 0 {
				return pathBack(reached, cameBy, from, f)
			}
			for other := range wants {
				if given[other][f] > 0 && !queued[other] {
					queued[other], cameBy[other] = true, f
					queue = append(queue, other)
				}
			}
		}
	}
	return nil
}

// pathBack is the path from a want to the fleet with room, from its end.
func pathBack(reached []hop, cameBy []int, from, last int) []hop {
	path := []hop{reached[last]}
	for path[len(path)-1].want != from {
		path = append(path, reached[cameBy[path[len(path)-1].want]])
	}
	return path
}

// push moves as many instances along a path as it carries.
func push(path []hop, given [][]int, free []int, most int) int {
	n := min(most, free[path[0].fleet])
	for k := 1; k < len(path); k++ { // the want of the hop before leaves this fleet
		n = min(n, given[path[k-1].want][path[k].fleet])
	}
	free[path[0].fleet] -= n
	for k, h := range path {
		given[h.want][h.fleet] += n
		if k > 0 {
			given[path[k-1].want][h.fleet] -= n
		}
	}
	return n
}
