package ec2sim

import (
	"slices"
	"time"
)

type quotaJSON struct {
	Service    string  `json:"ServiceCode"`
	Full       string  `json:"ServiceName"`
	ARN        string  `json:"QuotaArn"`
	Code       string  `json:"QuotaCode"`
	Name       string  `json:"QuotaName"`
	Value      float64 `json:"Value"`
	Unit       string  `json:"Unit"`
	Adjustable bool    `json:"Adjustable"`
	Global     bool    `json:"GlobalQuota"`
}

// quotaNames are the quotas that the simulator holds launches against, in the
// order in which they are listed.
var quotaNames = [][2]string{
	{StandardQuota, "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"},
	{StandardSpotQuota, "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"},
	{GraphicsSpotQuota, "All G and VT Spot Instance Requests"},
	{MacHostQuota, "Running Dedicated mac2 Hosts"},
	{GraphicsQuota, "Running On-Demand G and VT instances"},
}

// unlimited is shown for a quota that SetQuota hasn't set.
const unlimited = 1e6

func (s *Simulator) quotas() []quotaJSON {
	var all []quotaJSON
	for _, one := range quotaNames {
		value := float64(unlimited)
		if limit, ok := s.world.quotas[one[0]]; ok {
			value = float64(limit)
		}
		all = append(all, quotaJSON{"ec2", "Amazon Elastic Compute Cloud (Amazon EC2)",
			"arn:aws:servicequotas:" + s.options.Region + ":" + s.options.Account + ":ec2/" + one[0], one[0], one[1], value,
			"None", true, false})
	}
	return all
}

func (s *Simulator) getServiceQuota(_ time.Time, body []byte) (any, *apiError) {
	var request struct {
		Service string `json:"ServiceCode"`
		Code    string `json:"QuotaCode"`
	}
	if refusal := decode(body, &request); refusal != nil {
		return nil, refusal
	}
	all := s.quotas()
	at := slices.IndexFunc(all, func(one quotaJSON) bool {
		return one.Service == request.Service && one.Code == request.Code
	})
	if at < 0 {
		return nil, refuse(400, "NoSuchResourceException",
			"The request failed because the specified service quota does not exist.")
	}
	return map[string]any{"Quota": all[at]}, nil
}

type listRequest struct {
	Service   string `json:"ServiceCode"`
	NextToken string `json:"NextToken"`
	Most      int    `json:"MaxResults"`
}

func (s *Simulator) listServiceQuotas(_ time.Time, body []byte) (any, *apiError) {
	var request listRequest
	if refusal := decode(body, &request); refusal != nil {
		return nil, refusal
	}
	if request.Service != "ec2" {
		return nil, refuse(400, "NoSuchResourceException", "The specified service %q does not exist.", request.Service)
	}
	shown, token, refusal := jsonPage(s, "ListServiceQuotas", request, s.quotas())
	if refusal != nil {
		return nil, refusal
	}
	answer := map[string]any{"Quotas": shown}
	if token != "" {
		answer["NextToken"] = token
	}
	return answer, nil
}

// jsonPage takes from a list that never changes what a request shows.
func jsonPage[T any](s *Simulator, action string, request listRequest, all []T) ([]T, string, *apiError) {
	after, refusal := readToken(action, form{"NextToken": request.NextToken})
	if refusal != nil {
		return nil, "", refusal
	}
	if request.Most < 0 || request.Most > 100 {
		return nil, "", refuse(400, "InvalidParameterException", "MaxResults is %d; expected 1 to 100", request.Most)
	}
	size := 100
	if request.Most > 0 {
		size = request.Most
	}
	if s.options.LargestPage > 0 {
		size = min(size, s.options.LargestPage)
	}
	rest := all[min(after, len(all)):]
	if len(rest) <= size {
		return rest, "", nil
	}
	return rest[:size], writeToken(action, after+size), nil
}
