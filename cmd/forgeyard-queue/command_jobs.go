package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forgeyard/forgeyard-fleet/core/queue"
)

func jobsCommand() *cobra.Command {
	var n connection
	asJSON := false
	c := &cobra.Command{
		Use: "jobs", Short: "List the jobs", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := n.client()
			if err != nil {
				return err
			}
			all, err := client.Jobs(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(c.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(all)
			}
			return table(c.OutOrStdout(), all.Jobs)
		},
	}
	n.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func table(out io.Writer, jobs []queue.Job) error {
	if len(jobs) == 0 {
		fmt.Fprintln(out, "No jobs.")
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tSUBMITTED\tRUNNER\tCOMMAND\tREASON")
	for _, j := range jobs {
		fmt.Fprintf(
			w,
			"%s\t%s\t%s\t%s\t%s\t%s\n",
			j.ID,
			j.State,
			j.Submitted.Local().Format(time.DateTime),
			j.Runner,
			commandLine(j.Command),
			j.Reason,
		)
	}
	return w.Flush()
}

// commandLine is a job's command with its arguments on one line of a table, as it would
// be typed, and of a long one the beginning.
func commandLine(words []string) string {
	const most = 60
	var typed []string
	for _, word := range words {
		plain := func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+@%", r)
		}
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
			word = strconv.Quote(word)
		}
		typed = append(typed, word)
	}
	line := []rune(strings.Join(typed, " "))
	if len(line) > most {
		return string(line[:most-1]) + "…"
	}
	return string(line)
}

// ofOneJob is a command about one job.
func ofOneJob(use, short string, does func(c *cobra.Command, client *queue.Client, id string) error) *cobra.Command {
	var n connection
	c := &cobra.Command{
		Use: use + " ID", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := n.client()
			if err != nil {
				return err
			}
			return does(c, client, args[0])
		},
	}
	n.flags(c)
	return c
}

func logCommand() *cobra.Command {
	return ofOneJob(
		"log",
		"Print the end of a job's output",
		func(c *cobra.Command, client *queue.Client, id string) error {
			tail, err := client.Tail(c.Context(), id)
			if err == nil {
				_, err = io.WriteString(c.OutOrStdout(), tail)
			}
			return err
		},
	)
}

func cancelCommand() *cobra.Command {
	return ofOneJob("cancel", "Cancel a job", func(c *cobra.Command, client *queue.Client, id string) error {
		j, err := client.Cancel(c.Context(), id)
		if err != nil {
			return err
		}
		if j.CancelRequested {
			fmt.Fprintf(c.OutOrStdout(), "%s is %s; runner %s was asked to end it\n", j.ID, j.State, j.Runner)
			return nil
		}
		fmt.Fprintf(c.OutOrStdout(), "%s is %s\n", j.ID, j.State)
		return nil
	})
}
