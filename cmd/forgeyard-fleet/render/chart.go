package render

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/replay"
)

const (
	chartHeight = 6
	// widestChart is the most columns of a chart, and PlainWidth how wide a line is
	// where there is no terminal.
	widestChart = 160
	PlainWidth  = 80
	axisWidth   = 8
)

// pen is how a chart is drawn: characters for rising parts of a cell, and the
// colours of its two layers.
type pen struct {
	levels       []rune // from an eighth to a whole cell
	light        rune
	strong, weak string
	plain        string
}

func (page Page) pen(color string) pen {
	p := pen{levels: []rune("▁▂▃▄▅▆▇█"), light: '░'}
	if !page.Terminal {
		p = pen{levels: []rune("#"), light: '.'}
	}
	if page.Terminal && page.Color {
		p.strong, p.weak, p.plain = color, "\x1b[2m", "\x1b[0m"
	}
	return p
}

// charts shows the queued jobs and the instances over time.
func (page Page) charts(title string, r *replay.Result) {
	width := PlainWidth
	if page.Terminal && page.Width != nil {
		width = page.Width()
	}
	columns := min(max(width-axisWidth, 20), widestChart, max(len(r.Moments), 1))
	waiting, hosts, busy := resample(r.Moments, columns)
	page.Printf("\n%sQueued jobs\n", title)
	page.draw(page.pen("\x1b[33m"), waiting, waiting)
	page.Printf("\n%sInstances: busy, and above them idle\n", title)
	page.draw(page.pen("\x1b[32m"), hosts, busy)
	begin, end := r.Begin.UTC().Format("2006-01-02 15:04"), r.End.UTC().Format("2006-01-02 15:04 UTC")
	gap := max(1, len(waiting)-len(begin)-len(end))
	fmt.Fprintf(page.Out, "%*s  %s%s%s\n", axisWidth-2, "", begin, strings.Repeat(" ", gap), end)
	column := r.MomentSeconds * float64(len(r.Moments)) / float64(max(1, len(waiting)))
	page.Printf("%*s  each column is %s\n", axisWidth-2, "", time.Duration(column*float64(time.Second)).Round(time.Second))
}

// resample makes columns of moments: the most that waited, and the mean of hosts.
func resample(moments []replay.Moment, columns int) (waiting, hosts, busy []float64) {
	for n := range columns {
		from, to := n*len(moments)/columns, (n+1)*len(moments)/columns
		if to == from {
			continue
		}
		most, there, working := 0, 0.0, 0.0
		for _, m := range moments[from:to] {
			most = max(most, m.Waiting)
			there += m.Hosts
			working += m.Busy
		}
		waiting = append(waiting, float64(most))
		hosts = append(hosts, there/float64(to-from))
		busy = append(busy, working/float64(to-from))
	}
	return waiting, hosts, busy
}

// draw shows bars of all, whose lower part is strong, with a scale on the left.
func (page Page) draw(p pen, all, strong []float64) {
	top := 0.0
	for _, n := range all {
		top = max(top, n)
	}
	top = max(1, math.Ceil(top))
	for row := chartHeight - 1; row >= 0; row-- {
		label := ""
		if row == chartHeight-1 {
			label = fmt.Sprint(int(top))
		}
		if row == 0 {
			label = "0"
		}
		fmt.Fprintf(page.Out, "%*s ", axisWidth-2, label)
		fmt.Fprint(page.Out, "|")
		cellFrom := float64(row) / chartHeight * top
		var line strings.Builder
		for n := range all {
			line.WriteString(p.cell((strong[n]-cellFrom)/(top/chartHeight), (all[n]-cellFrom)/(top/chartHeight)))
		}
		fmt.Fprintln(page.Out, strings.TrimRight(line.String(), " "))
	}
}

// cell is one character of a bar, of which so many parts are strong, and so many
// in all.
func (p pen) cell(strong, all float64) string {
	level := int(math.Ceil(min(strong, 1)*float64(len(p.levels)) - 1e-9))
	if len(p.levels) == 1 {
		level = int(math.Round(min(max(strong, 0), 1)))
	}
	switch {
	case level > 0:
		return p.strong + string(p.levels[level-1]) + p.plain
	case all >= 0.5:
		return p.weak + string(p.light) + p.plain
	}
	return " "
}
