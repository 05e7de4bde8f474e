package config

// settingsReference is what a file says about itself: the installation, its
// plugins, its variables.
var settingsReference = []ReferenceBlock{
	{
		Path: "forgeyard", Required: true,
		Doc: "Names the installation and what it needs. A definition has exactly one. `installation`, `required_version` and `required_plugins` are plain values: they are read before variables are known.",
		Attributes: []ReferenceAttribute{
			{Name: "installation", Type: TextValue, Required: true, Doc: "The installation's name: a lower-case letter, then lower-case letters, digits and `-`, at most 63. It names the default state directory and goes into resource tags and the manager's certificate. A state directory belongs to one name for good."},
			{Name: "required_version", Type: TextValue, Doc: "Which versions of `forgeyard-fleet` may read the files, such as `\">= 0.1\"`. Left out: any."},
		},
		Example: `forgeyard {
  installation     = "acme-ci"
  required_version = ">= 0.1"

  required_plugins {
    local = {
      version        = "~> 0.1"
      source         = "ghcr.io/forgeyard/fleet-local"
      env            = ["XDG_STATE_HOME"]
      allow_unsigned = false
    }
  }

  manager {
    listen    = "127.0.0.1:7443"
    advertise = "https://127.0.0.1:7443"
    agents    = "/opt/forgeyard/agents"
  }
}
`,
	},
	{
		Path: "forgeyard.required_plugins", Body: EntryBody,
		Doc: "The plugins that the `provider` blocks use: one entry `NAME = { … }` for each, with these keys. `plugin install` fetches and locks them: see [installing plugins](plugins-install.md).",
		Attributes: []ReferenceAttribute{
			{Name: "version", Type: TextValue, Doc: "Which versions may be installed, such as `\"~> 0.1\"`. Left out: any."},
			{Name: "source", Type: TextValue, Doc: "The plugin's OCI repository in full, `HOST/PATH` without a tag: there is no default host. Only for a build of your own, installed with `--dev`, may it be left out."},
			{Name: "env", Type: TextListValue, Default: "[]", Doc: "Names of environment variables that the plugin gets besides `HOME`, `PATH`, `TMPDIR`, the proxy variables, `SSL_CERT_FILE` and `SSL_CERT_DIR`."},
			{Name: "allow_unsigned", Type: BoolValue, Default: "false", Doc: "`true`: the plugin may be installed and used although nobody signed it. A signature that is there still counts."},
		},
	},
	{
		Path: "forgeyard.manager",
		Doc:  "Where agents reach the manager.",
		Attributes: []ReferenceAttribute{
			{Name: "listen", Type: TextValue, Doc: "`HOST:PORT` on which the manager answers agents. Left out: `127.0.0.1` and a port that is chosen at the first start and kept. An agent keeps the address it was given, so change it only with the fleets empty."},
			{Name: "advertise", Type: TextValue, Doc: "The `https` URL at which agents reach that address. Left out: made from the address that is listened on; with `0.0.0.0` it must be set."},
			{Name: "agents", Type: TextValue, Doc: "Folder that holds the agents: `forgeyard-runner-OS-ARCH` (Go's names, such as `linux-amd64`), or `forgeyard-runner` for the manager's own platform; with `.exe` for Windows. Left out: the folder of `forgeyard-fleet` itself."},
		},
	},
	{
		Path: "variable", Labels: []string{"NAME"}, Repeated: true,
		Doc: "A value from outside, used as `var.NAME`. It comes from `--var NAME=VALUE`, a `--var-file`, or `FLEET_VAR_NAME` in the environment, in this order of precedence; else it is the default.",
		Attributes: []ReferenceAttribute{
			{Name: "type", Type: TypeValue, Doc: "`string`, `number`, `bool`, `list(…)`, `map(…)`, `set(…)` or `object({…})`, where `optional(TYPE, DEFAULT)` may stand within an object. Left out: anything. For types other than the first three, the text from the command line or the environment is read as an expression."},
			{Name: "default", Type: AnyValue, Doc: "The value where none is given. It is a plain value. Left out: a value must be given."},
			{Name: "sensitive", Type: BoolValue, Default: "false", Doc: "The value is shown in no message and may stand in nothing that is stored, and neither may what is made from it. A plugin's secret is no variable, but a [`secret(…)`](#secrets)."},
			{Name: "description", Type: TextValue, Doc: "A sentence for people. Nothing reads it."},
		},
		Example: `variable "most" {
  description = "How many hosts may run."
  type        = number
  default     = 4
  sensitive   = false

  validation {
    condition     = var.most > 0
    error_message = "At least one."
  }
}
`,
	},
	{
		Path: "variable.validation", Repeated: true,
		Doc: "A rule for the variable's value.",
		Attributes: []ReferenceAttribute{
			{Name: "condition", Type: ConditionValue, Required: true, Doc: "Must be true. It may refer to this variable alone."},
			{Name: "error_message", Type: TextValue, Required: true, Doc: "What is printed where it isn't."},
		},
	},
	{
		Path: "locals", Repeated: true, Body: FreeBody,
		Doc: "Names for expressions, used as `local.NAME`. They may refer to each other, but not in a circle.",
		Example: `locals {
  command = ["sh", "-c", "echo working; sleep 5"]
}
`,
	},
}
