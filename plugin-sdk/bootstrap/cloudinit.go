package bootstrap

import (
	"fmt"
	"strings"
)

// KindCloudInit is user data for cloud-init, in which the host gets the agent,
// checks it and joins.
const KindCloudInit = "cloud-init"

// documentEnd ends the document within the script. No line of JSON is like it.
const documentEnd = "END_OF_BOOTSTRAP_DOCUMENT"

// cloudInitScript is what cloud-init runs once, as root, late in the first boot.
// A script and not a #cloud-config: every version takes it, and it can be run by
// hand to see what is wrong.
//
// The manager's certificate is its own making, so nothing is believed of the
// download's connection; the digest is what makes the agent good, and the agent
// pins the authority before it sends the token. Python is the last resort, since
// cloud-init itself is written in it.
const cloudInitScript = `#!/bin/sh
# First boot of a host of forgeyard-fleet.
umask 077
home=/opt/forgeyard-runner
mkdir -p "$home" || exit 1
cat >"$home/first-boot.json" <<'` + documentEnd + `'
@DOCUMENT@` + documentEnd + `
trap 'rm -f "$home/first-boot.json" "$home/first-boot"' EXIT
@AGENT@
"$agent" join <"$home/first-boot.json"
`

const fetchAgent = `agent="$home/first-boot"
url=@URL@
want=@SHA256@
fetch() {
  rm -f "$agent"
  if command -v curl >/dev/null 2>&1; then curl -fsSk -m 300 -o "$agent" "$url"
  elif command -v wget >/dev/null 2>&1; then wget -q --no-check-certificate -O "$agent" "$url"
  else python3 -c 'import ssl, sys, urllib.request
c = ssl._create_unverified_context()
open(sys.argv[2], "wb").write(urllib.request.urlopen(sys.argv[1], context=c, timeout=300).read())' "$url" "$agent"
  fi
}
tries=0
until fetch && [ "$(sha256sum "$agent" | cut -d' ' -f1)" = "$want" ]; do
  tries=$((tries + 1))
  if [ $tries -ge 60 ]; then
    echo "What $url sends is not the agent whose sha256 is $want; this host does not join." >&2
    exit 1
  fi
  sleep 5
done
chmod 700 "$agent"`

const bakedAgent = `agent=$(command -v forgeyard-runner) || { echo "The image should have forgeyard-runner on its PATH, and has not; this host does not join." >&2; exit 1; }`

// cloudInit renders the user data.
func cloudInit(document Document) ([]byte, error) {
	url, digest := document.AgentURL, document.AgentSHA256
	document.Kind = KindFile
	content, err := document.encode()
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(url, "'\n") {
		return nil, fmt.Errorf("agent_url %q can't stand in a script", url)
	}
	agent := bakedAgent
	if url != "" {
		agent = strings.NewReplacer("@URL@", "'"+url+"'", "@SHA256@", digest).Replace(fetchAgent)
	}
	return []byte(strings.NewReplacer("@DOCUMENT@", string(content), "@AGENT@", agent).Replace(cloudInitScript)), nil
}
