package reason

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Unknown is a reason that another version of this program gave: of a code, or with
// parameters, that this one doesn't know. It stays as it is.
type Unknown struct {
	OtherCode Code
	// Parameters is their JSON, and Words the text.
	Parameters string
	Words      string
}

// Text is what the other version made of it.
func (d Unknown) Text() string { return d.Words }

// record is a reason as it is stored and sent.
type record struct {
	Code   Code            `json:"code"`
	Params json.RawMessage `json:"params,omitempty"`
	Text   string          `json:"text"`
}

// MarshalJSON gives the code, the parameters and the text; no reason is null.
func (r Reason) MarshalJSON() ([]byte, error) {
	if r.Params == nil {
		return []byte("null"), nil
	}
	if content, known := conversions.jsonOf(r.Params); known {
		return content, nil
	}
	content, err := r.encode()
	if err == nil {
		conversions.keepWrote(r.Params, content)
	}
	return content, err
}

func (r Reason) encode() ([]byte, error) {
	out := record{Code: r.Code(), Text: r.Text()}
	if d, unknown := r.Params.(Unknown); unknown {
		if d.Parameters != "" {
			out.Params = json.RawMessage(d.Parameters)
		}
		return json.Marshal(out)
	}
	params, err := json.Marshal(r.Params)
	if err != nil {
		return nil, fmt.Errorf("write the reason %s: %w", out.Code, err)
	}
	if !bytes.Equal(params, []byte("{}")) {
		out.Params = params
	}
	return json.Marshal(out)
}

// UnmarshalJSON restores the typed parameters of a code that is known. Anything else
// that a version of this program may have written is kept as it is.
func (r *Reason) UnmarshalJSON(content []byte) error {
	if bytes.Equal(content, []byte("null")) {
		*r = Reason{}
		return nil
	}
	if d, known := conversions.detailOf(content); known {
		r.Params = d
		return nil
	}
	if err := r.decode(content); err != nil {
		return err
	}
	conversions.keepRead(content, r.Params)
	return nil
}

func (r *Reason) decode(content []byte) error {
	if content[0] == '"' { // an earlier version stored texts
		var words string
		if err := json.Unmarshal(content, &words); err != nil {
			return fmt.Errorf("read the text of a reason: %w", err)
		}
		*r = Plain(words)
		return nil
	}
	var in record
	if err := json.Unmarshal(content, &in); err != nil {
		return fmt.Errorf("read a reason: %w", err)
	}
	if d, ok := restore(in); ok {
		r.Params = d
		return nil
	}
	r.Params = Unknown{OtherCode: in.Code, Parameters: string(in.Params), Words: in.Text}
	return nil
}

// restore is a detail of a known code; false: it can't be read without a loss.
func restore(in record) (Detail, bool) {
	kind, known := kinds[in.Code]
	if !known {
		return nil, false
	}
	value := reflect.New(kind)
	if len(in.Params) > 0 {
		reader := json.NewDecoder(bytes.NewReader(in.Params))
		reader.DisallowUnknownFields()
		if reader.Decode(value.Interface()) != nil {
			return nil, false
		}
	}
	d, ok := value.Elem().Interface().(Detail)
	return d, ok
}
