package ec2sim

import (
	"net/http"
	"regexp"
)

// credentialScope reads the scope of a version 4 signature:
// access key/day/region/service/aws4_request.
var credentialScope = regexp.MustCompile(
	`^AWS4-HMAC-SHA256 Credential=([^/,]+)/(\d{8})/([^/,]+)/([^/,]+)/aws4_request, ?SignedHeaders=[^,]+, ?Signature=[0-9a-f]{64}$`)

// signer is who signed a request, and for which region and service.
type signer struct {
	accessKey, region, service string
}

// readSigner refuses a request that isn't signed. The signature's figures
// aren't computed again: the simulator holds no secret of its caller.
func readSigner(request *http.Request) (signer, *apiError) {
	found := credentialScope.FindStringSubmatch(request.Header.Get("Authorization"))
	if found == nil {
		return signer{},
			refuse(401, "AuthFailure",
				"AWS was not able to validate the provided access credentials: sign the request with a version 4 signature.")
	}
	if request.Header.Get("X-Amz-Date") == "" {
		return signer{}, refuse(401, "AuthFailure", "the signed request has no header X-Amz-Date")
	}
	return signer{accessKey: found[1], region: found[3], service: found[4]}, nil
}
