package config

// forgeyardBlock names the installation and what it needs.
type forgeyardBlock struct {
	Installation    string             `fleet:"installation,required" form:"installation" example:"acme-ci" doc:"The installation's name: a lower-case letter, then lower-case letters, digits and '-', at most 63. It names the default state directory and goes into resource tags and the manager's certificate. A state directory belongs to one name for good."`
	RequiredVersion string             `fleet:"required_version" form:"version" example:">= 0.1" doc:"Which versions of 'forgeyard-fleet' may read the files, such as '\">= 0.1\"'. Left out: any."`
	RequiredPlugins []requirementBlock `fleet:"required_plugins,block" body:"entries" doc:"The plugins that the 'provider' blocks use: one entry 'NAME = { … }' for each, with these keys. 'plugin install' fetches and locks them: see [installing plugins](plugins-install.md)."`
	Manager         *managerBlock      `fleet:"manager,block" doc:"Where agents reach the manager."`
}

// requirementBlock is one entry of required_plugins, and a fleet.PluginRequirement.
type requirementBlock struct {
	Name          string   `fleet:"-" label:"NAME" example:"local"`
	Source        string   `fleet:"source" form:"source" example:"ghcr.io/forgeyard/fleet-local" doc:"The plugin's OCI repository in full, 'HOST/PATH' without a tag: there is no default host. Only for a build of your own, installed with '--dev', may it be left out."`
	Version       string   `fleet:"version" form:"version" example:"~> 0.1" doc:"Which versions may be installed, such as '\"~> 0.1\"'. Left out: any."`
	Env           []string `fleet:"env" list:"set" form:"environment" default:"[]" example:"[\"XDG_STATE_HOME\"]" doc:"Names of environment variables that the plugin gets besides 'HOME', 'PATH', 'TMPDIR', the proxy variables, 'SSL_CERT_FILE' and 'SSL_CERT_DIR'."`
	AllowUnsigned bool     `fleet:"allow_unsigned" default:"false" example:"false" doc:"'true': the plugin may be installed and used although it isn't signed. A signature that exists still counts."`
}

// managerBlock is a fleet.ManagerSettings.
type managerBlock struct {
	Listen    string `fleet:"listen" form:"listen" example:"127.0.0.1:7443" doc:"'HOST:PORT' on which the manager answers agents. Left out: '127.0.0.1' and a port that is chosen at the first start and kept. An agent keeps the address it was given, so change it only with the fleets empty."`
	Advertise string `fleet:"advertise" form:"https" example:"https://127.0.0.1:7443" doc:"The 'https' URL at which agents reach that address. Left out: made from the address that is listened on; with '0.0.0.0' it must be set."`
	Agents    string `fleet:"agents" example:"/opt/forgeyard/agents" doc:"Folder that holds the agents: 'forgeyard-runner-OS-ARCH' (Go's names, such as 'linux-amd64'), or 'forgeyard-runner' for the manager's own platform; with '.exe' for Windows. Left out: the folder of 'forgeyard-fleet' itself."`
}

// variableBlock declares a value from outside.
type variableBlock struct {
	Name        string            `fleet:"-" label:"NAME" example:"most"`
	Description string            `fleet:"description" example:"How many instances may run." doc:"A sentence for people. It has no effect."`
	Type        Expression        `fleet:"type" value:"type" example:"number" doc:"'string', 'number', 'bool', 'list(…)', 'map(…)', 'set(…)' or 'object({…})', where 'optional(TYPE, DEFAULT)' may stand within an object. Left out: anything. For types other than the first three, the text from the command line or the environment is read as an expression."`
	Default     Expression        `fleet:"default" value:"any value" example:"4" doc:"The value where none is given. It is a plain value. Left out: a value must be given."`
	Sensitive   bool              `fleet:"sensitive" default:"false" example:"false" doc:"The value is shown in no message and may stand in nothing that is stored, and neither may what is made from it. A plugin's secret isn't a variable, but a ['secret(…)'](#secrets)."`
	Validations []validationBlock `fleet:"validation,block" doc:"A rule for the variable's value."`
}

// validationBlock is a rule for the variable's value. Both are evaluated once the
// variable has one.
type validationBlock struct {
	Condition    Expression `fleet:"condition,required" value:"boolean expression" example:"var.most > 0" doc:"Must be true. It may only refer to this variable."`
	ErrorMessage Expression `fleet:"error_message,required" value:"text" example:"\"At least one.\"" doc:"What is printed where it isn't."`
}
