package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

var schemaRules = []Rule{
	{
		Name: "schema-valid", check: schemaValid,
		Says: "GetInfo answers before Configure, the same each time, with schemas that a fleet file can be read by.",
	},
	{
		Name: "schema-documented", check: schemaDocumented,
		Says: "Every attribute and every block has a description.",
	},
	{
		Name: "levels-declared", check: levelsDeclared,
		Says: "GetInfo says what makes a repeated create safe, and what proves that a resource is ours.",
	},
}

func schemaValid(ctx context.Context, b *bench) error {
	running, err := b.fresh(ctx, false)
	if err != nil {
		return err
	}
	client := providerpb.NewProviderClient(running.Connection())
	var answers []*providerpb.GetInfoResponse
	for range 2 {
		limited, cancel := context.WithTimeout(ctx, shortCall)
		info, err := client.GetInfo(limited, &providerpb.GetInfoRequest{HostVersion: "0.0.0"})
		cancel()
		if err != nil {
			return fmt.Errorf("ask what it is: %w", err)
		}
		answers = append(answers, info)
	}
	b.info = answers[0]
	b.learnSecrets()
	if !proto.Equal(answers[0], answers[1]) {
		return fmt.Errorf("two calls of GetInfo give two answers, and the host keeps the first")
	}
	return checkInfo(b.info)
}

// learnSecrets remembers the values of sensitive attributes, to look for them in
// what the plugin says.
func (b *bench) learnSecrets() {
	for schema, content := range map[*providerpb.Schema][]byte{b.info.GetProviderSchema(): b.options.Provider,
		b.info.GetInstanceSchema(): b.options.Instance} {
		var body map[string]any
		if json.Unmarshal(content, &body) == nil {
			b.secrets = append(b.secrets, sensitiveValues(schema.GetAttributes(), schema.GetBlocks(), body)...)
		}
	}
}

// shortestSecret is how long a value must be to be recognised in a text.
const shortestSecret = 6

func sensitiveValues(attributes []*providerpb.Attribute, blocks []*providerpb.Block, body map[string]any) []string {
	var found []string
	for _, one := range attributes {
		value := body[one.GetName()]
		switch inner, isObject := value.(map[string]any); {
		case one.GetSensitive():
			found = append(found, textsIn(value)...)
		case isObject && one.GetType().GetKind() == providerpb.Type_KIND_OBJECT:
			found = append(found, sensitiveValues(one.GetType().GetAttributes(), nil, inner)...)
		}
	}
	for _, block := range blocks {
		bodies, isList := body[block.GetName()].([]any)
		if !isList {
			bodies = []any{body[block.GetName()]}
		}
		for _, one := range bodies {
			if inner, ok := one.(map[string]any); ok {
				found = append(found, sensitiveValues(block.GetSchema().GetAttributes(), block.GetSchema().GetBlocks(), inner)...)
			}
		}
	}
	return found
}

// textsIn are the texts within a value.
func textsIn(value any) []string {
	var found []string
	switch value := value.(type) {
	case string:
		if len(value) >= shortestSecret {
			found = append(found, value)
		}
	case []any:
		for _, one := range value {
			found = append(found, textsIn(one)...)
		}
	case map[string]any:
		for _, one := range value {
			found = append(found, textsIn(one)...)
		}
	}
	return found
}

var (
	pluginName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	schemaName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)
	semver     = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`)
)

func checkInfo(info *providerpb.GetInfoResponse) error {
	if !pluginName.MatchString(info.GetName()) {
		return fmt.Errorf("the name %q must be lower-case letters, digits and dashes", info.GetName())
	}
	if !semver.MatchString(info.GetVersion()) {
		return fmt.Errorf("the version %q is not a semantic version such as 1.2.3", info.GetVersion())
	}
	if settle := info.GetListSettle(); settle != nil && (settle.CheckValid() != nil || settle.AsDuration() < 0) {
		return fmt.Errorf("invalid list_settle %v: write a positive duration", settle)
	}
	if err := checkSchema(info.GetProviderSchema()); err != nil {
		return fmt.Errorf("provider block: %w", err)
	}
	if err := checkSchema(info.GetInstanceSchema()); err != nil {
		return fmt.Errorf("instance block: %w", err)
	}
	return nil
}

func checkSchema(schema *providerpb.Schema) error {
	names := map[string]bool{}
	if err := checkAttributes(schema.GetAttributes(), names); err != nil {
		return err
	}
	for _, block := range schema.GetBlocks() {
		if err := claim(names, block.GetName()); err != nil {
			return err
		}
		if err := checkSchema(block.GetSchema()); err != nil {
			return fmt.Errorf("%s: %w", block.GetName(), err)
		}
	}
	return nil
}

func claim(names map[string]bool, name string) error {
	if !schemaName.MatchString(name) {
		return fmt.Errorf("%q can't be the name of an attribute or a block", name)
	}
	if names[name] {
		return fmt.Errorf("the name %q is used twice", name)
	}
	names[name] = true
	return nil
}

func checkAttributes(attributes []*providerpb.Attribute, names map[string]bool) error {
	for _, one := range attributes {
		if err := claim(names, one.GetName()); err != nil {
			return err
		}
		if err := checkType(one.GetType()); err != nil {
			return fmt.Errorf("%s: %w", one.GetName(), err)
		}
		text := one.GetDefaultJson()
		if text == "" {
			continue
		}
		var value any
		switch err := json.Unmarshal([]byte(text), &value); {
		case err != nil:
			return fmt.Errorf("%s: the default %q is not valid JSON", one.GetName(), text)
		case one.GetRequired():
			return fmt.Errorf("%s: what is required can't have a default", one.GetName())
		case one.GetSensitive():
			return fmt.Errorf("%s: a secret can't have a default", one.GetName())
		case value != nil && !fits(one.GetType(), value):
			return fmt.Errorf("%s: the default %s is no %v", one.GetName(), text, one.GetType().GetKind())
		}
	}
	return nil
}

func checkType(t *providerpb.Type) error {
	switch t.GetKind() {
	case providerpb.Type_KIND_STRING, providerpb.Type_KIND_BOOL, providerpb.Type_KIND_INT, providerpb.Type_KIND_NUMBER,
		providerpb.Type_KIND_DURATION:
		return nil
	case providerpb.Type_KIND_LIST, providerpb.Type_KIND_MAP:
		if err := checkType(t.GetElement()); err != nil {
			return fmt.Errorf("element: %w", err)
		}
		return nil
	case providerpb.Type_KIND_OBJECT:
		return checkAttributes(t.GetAttributes(), map[string]bool{})
	}
	return fmt.Errorf("the type %v isn't one", t.GetKind())
}

// fits says whether a JSON value is of the type.
func fits(t *providerpb.Type, value any) bool {
	switch t.GetKind() {
	case providerpb.Type_KIND_STRING:
		_, ok := value.(string)
		return ok
	case providerpb.Type_KIND_BOOL:
		_, ok := value.(bool)
		return ok
	case providerpb.Type_KIND_INT:
		number, ok := value.(float64)
		return ok && number == float64(int64(number))
	case providerpb.Type_KIND_NUMBER:
		_, ok := value.(float64)
		return ok
	case providerpb.Type_KIND_DURATION:
		text, _ := value.(string)
		_, err := time.ParseDuration(text)
		return err == nil
	case providerpb.Type_KIND_LIST:
		elements, ok := value.([]any)
		return ok && !slices.ContainsFunc(elements, func(element any) bool { return !fits(t.GetElement(), element) })
	case providerpb.Type_KIND_MAP:
		entries, ok := value.(map[string]any)
		for _, element := range entries {
			ok = ok && fits(t.GetElement(), element)
		}
		return ok
	}
	_, ok := value.(map[string]any)
	return ok
}

func schemaDocumented(_ context.Context, b *bench) error {
	if b.info == nil {
		return errNoInfo
	}
	bare := slices.Concat(
		undocumented("provider.", b.info.GetProviderSchema().GetAttributes(), b.info.GetProviderSchema().GetBlocks()),
		undocumented("instance.", b.info.GetInstanceSchema().GetAttributes(), b.info.GetInstanceSchema().GetBlocks()),
	)
	if len(bare) > 0 {
		return fmt.Errorf("these have no description: %s", strings.Join(bare, ", "))
	}
	return nil
}

func undocumented(path string, attributes []*providerpb.Attribute, blocks []*providerpb.Block) []string {
	var bare []string
	for _, one := range attributes {
		if strings.TrimSpace(one.GetDoc()) == "" {
			bare = append(bare, path+one.GetName())
		}
		inner := one.GetType()
		for inner.GetElement() != nil {
			inner = inner.GetElement()
		}
		bare = append(bare, undocumented(path+one.GetName()+".", inner.GetAttributes(), nil)...)
	}
	for _, block := range blocks {
		if strings.TrimSpace(block.GetDoc()) == "" {
			bare = append(bare, path+block.GetName())
		}
		bare = append(bare,
			undocumented(path+block.GetName()+".", block.GetSchema().GetAttributes(), block.GetSchema().GetBlocks())...)
	}
	return bare
}

func levelsDeclared(_ context.Context, b *bench) error {
	if b.info == nil {
		return errNoInfo
	}
	ownership, idempotency := b.info.GetOwnership(), b.info.GetIdempotency()
	byAsset := idempotency == providerpb.Idempotency_IDEMPOTENCY_BY_ASSET
	switch {
	case providerpb.Ownership_name[int32(ownership)] == "" || ownership == providerpb.Ownership_OWNERSHIP_UNSPECIFIED:
		return fmt.Errorf(
			"the ownership is %v: without a level of proof the host makes nothing, since it could delete nothing", ownership)
	case providerpb.Idempotency_name[int32(idempotency)] == "" ||
		idempotency == providerpb.Idempotency_IDEMPOTENCY_UNSPECIFIED:
		return fmt.Errorf("the idempotency is %v: say IDEMPOTENCY_NONE where a lost answer shall be a person's business",
			idempotency)
	case byAsset != b.byAsset():
		return fmt.Errorf(
			"the ownership %v and the idempotency %v don't go together: an asset that the host claims is both or neither",
			ownership, idempotency)
	}
	return nil
}
