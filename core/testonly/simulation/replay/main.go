package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/testonly/simulation"
)

func main() {
	seed := flag.Uint64("seed", 0, "the seed to run")
	only := flag.String(
		"only",
		"",
		"the numbers of the faults that strike, as in 1,4,7, or none; empty: all of the seed's",
	)
	shrink := flag.Bool("shrink", false, "leave out the faults that the failure doesn't need")
	flag.Parse()
	options := simulation.Options{Seed: *seed}
	numbers, err := parse(*only)
	if err != nil {
		fmt.Fprintf(os.Stderr, "replay: read --only %q: %v; give numbers with commas between them, or none\n", *only, err)
		os.Exit(2)
	}
	options.Only = numbers
	report := simulation.Run(options)
	if *shrink {
		report = simulation.Shrink(options)
	}
	os.Stdout.Write(report.Log)
	fmt.Println(report)
	if report.Failure != nil {
		os.Exit(1)
	}
}

// parse reads a list of numbers; nil: there is none.
func parse(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	numbers := []int{}
	if text == "none" {
		return numbers, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}
