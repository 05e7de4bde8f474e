package simulation

import (
	"container/heap"
	"time"
)

// agenda is everything that will happen, by its time. What was put down first
// comes first among equals, so that the order never depends on anything else.
type agenda struct {
	items []item
	put   int
}

type item struct {
	at  time.Duration
	seq int
	do  func()
}

func (a *agenda) Len() int { return len(a.items) }
func (a *agenda) Less(i, j int) bool {
	if a.items[i].at != a.items[j].at {
		return a.items[i].at < a.items[j].at
	}
	return a.items[i].seq < a.items[j].seq
}
func (a *agenda) Swap(i, j int) { a.items[i], a.items[j] = a.items[j], a.items[i] }

// Push and Pop are heap's.
func (a *agenda) Push(x any) { a.items = append(a.items, x.(item)) }

// Pop removes the last item.
func (a *agenda) Pop() any {
	last := a.items[len(a.items)-1]
	a.items = a.items[:len(a.items)-1]
	return last
}

func (a *agenda) add(at time.Duration, do func()) {
	a.put++
	heap.Push(a, item{at, a.put, do})
}

func (a *agenda) next() (item, bool) {
	if len(a.items) == 0 {
		return item{}, false
	}
	return heap.Pop(a).(item), true
}
