package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/core/access"
	"github.com/forgeyard/forgeyard-fleet/core/fleet"
	"github.com/forgeyard/forgeyard-fleet/core/plans"
)

// ApplyRequest is what is to be applied, and what of its plan was approved.
type ApplyRequest struct {
	Submission plans.Submission `json:"submission"`
	Approval   plans.Approval   `json:"approval"`
}

type planInput struct {
	Body plans.Submission
}

type planOutput struct {
	ETag string `header:"ETag" doc:"The serial of the definition that was planned against, for If-Match."`
	Body plans.Plan
}

type applyInput struct {
	IfMatch        string `header:"If-Match" maxLength:"64" doc:"The ETag of the plan. It must equal approval.serial."`
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"Any text: the same request with the same key is carried out once, and answered alike for a day."`
	Body           ApplyRequest
}

type applyOutput struct {
	ETag string `header:"ETag" doc:"The serial of the current definition."`
	Body plans.Receipt
}

func (h *Handler) addPlans() {
	add(
		h,
		route{
			id:      "plan",
			method:  http.MethodPost,
			path:    "/v1/plan",
			useCase: "plan",
			tag:     "definition",
			body:    submissionBody,
			status:  http.StatusOK,
			summary: "Plan files",
			about: "Says what applying them would do, and changes nothing. Errors in the files are a problem 422 with the " +
				"code diagnostics.",
		},
		func(ctx context.Context, in *planInput) (*planOutput, error) {
			p, err := h.service.Plan(ctx, in.Body)
			return &planOutput{ETag: serialTag(p.Serial), Body: p}, err
		},
	)
	add(
		h,
		route{
			id:      "apply",
			method:  http.MethodPost,
			path:    "/v1/apply",
			useCase: "apply",
			tag:     "definition",
			body:    submissionBody,
			status:  http.StatusOK,
			summary: "Apply files",
			about: "Only if it still does what was approved: else it is a problem 412 with the code stale, which says who " +
				"applied what in between.",
		},
		func(ctx context.Context, in *applyInput) (*applyOutput, error) {
			if err := matchSerial(in.IfMatch, in.Body.Approval.Serial); err != nil {
				return nil, err
			}
			receipt, err := h.apply(ctx, in)
			return &applyOutput{ETag: serialTag(receipt.Serial), Body: receipt}, err
		},
	)
}

func (h *Handler) apply(ctx context.Context, in *applyInput) (plans.Receipt, error) {
	carryOut := func() (plans.Receipt, error) {
		return h.service.Apply(ctx, in.Body.Submission, in.Body.Approval)
	}
	if in.IdempotencyKey == "" {
		return carryOut()
	}
	return h.applied.once(ctx, in.IdempotencyKey, fleet.Digest(in.Body), carryOut)
}

func serialTag(serial int64) string { return `"` + strconv.FormatInt(serial, 10) + `"` }

// matchSerial refuses an If-Match that speaks of another definition than the
// approval: one of them is a mistake.
func matchSerial(header string, serial int64) error {
	if header == "" {
		return nil
	}
	tag := strings.TrimSpace(header)
	number, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64)
	if err != nil || serialTag(number) != tag {
		return &access.InvalidError{Reason: `If-Match is not a quoted serial; send the plan's ETag unchanged, such as "7"`}
	}
	if number != serial {
		return &access.InvalidError{
			Reason: "If-Match and approval.serial are of different definitions; send both of one plan",
		}
	}
	return nil
}
