// Level 1 of XMCP in Go: everything that a server adds to MCP. shop.go has the tools, mcp.go has MCP itself.
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"
)

type object = map[string]any

const prefix = "io.github.xmcp-spec/"

var announced = object{prefix + "tool-response": object{"versions": []string{"1.0"}, "wire": "plain"}}

// Failure is a failure that a tool foresees. More is further members of the error, such as retry_after_ms.
type Failure struct {
	Code, Category, Message string
	More                    object
}

func (f Failure) Error() string { return f.Message }

// Tool has a schema of the input and a function that returns a text for the model and, if asked to, a display.
type Tool struct {
	Description string
	Input       object
	Display     bool
	Run         func(given object) (text string, display object, err error)
}

func answer(name string, given object) (result object) {
	defer func() {
		if cause := recover(); cause != nil {
			result = failed(unforeseen(cause))
		}
	}()
	tool, known := tools[name]
	if !known {
		return failed(Failure{"UNKNOWN_TOOL", "not_found", "There is no tool " + name + ".", nil})
	}
	if given["show_user"] == nil { // models write null for "not set"
		delete(given, "show_user")
	}
	if fields := misfits(tool.Input, given); len(fields) > 0 {
		var said []string
		for _, field := range fields {
			said = append(said, fmt.Sprint(field["pointer"], ": ", field["message"]))
		}
		meta := object{"fields": fields, "side_effects": "none"}
		return failed(Failure{"VALIDATION_FAIL", "invalid_input", strings.Join(said, "; "), object{"meta": meta}})
	}
	text, display, err := tool.Run(given)
	var foreseen Failure
	switch {
	case errors.As(err, &foreseen):
		return failed(foreseen)
	case err != nil:
		return failed(unforeseen(err))
	case display == nil:
		return plain(object{}, block(text))
	}
	blocks := []object{block(text + "\nThis was also sent as a display, which not every client shows.")}
	if alt, _ := display["alt"].(string); !strings.Contains(text, alt) {
		forTheUser := block(string([]rune(alt)[:min(500, len([]rune(alt)))]))
		forTheUser["annotations"] = object{"audience": []string{"user"}}
		blocks = append(blocks, forTheUser)
	}
	return plain(object{prefix + "display": display}, blocks...)
}

func block(text string) object { return object{"type": "text", "text": text} }

func plain(meta object, blocks ...object) object {
	meta[prefix+"result"] = object{"version": "1.0", "form": "plain"}
	return object{"content": blocks, "_meta": meta}
}

func failed(failure Failure) object {
	said := object{"code": failure.Code, "category": failure.Category, "message": failure.Message, "retryable": false}
	maps.Copy(said, failure.More)
	result := plain(object{prefix + "error": said}, block(failure.Code+": "+failure.Message))
	result["isError"] = true
	return result
}

func unforeseen(cause any) Failure {
	id := rand.Text()
	log.Println(id, cause)
	return Failure{"INTERNAL", "internal", "The log has the reason: " + id, object{"meta": object{"error_id": id}}}
}

// misfits names each argument that does not fit the schema, of which it knows as much as the tools below use.
func misfits(schema, given object) (fields []object) {
	refuse := func(name, why string) {
		step := strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		fields = append(fields, object{"pointer": "/" + step, "message": why})
	}
	properties := schema["properties"].(map[string]object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := properties[name]
		options, limited := property["enum"].([]string)
		switch value, there := given[name]; {
		case !there && slices.Contains(schema["required"].([]string), name):
			refuse(name, "is missing")
		case there && property["type"] != jsonType[fmt.Sprintf("%T", value)]:
			refuse(name, fmt.Sprint("must be a ", property["type"]))
		case there && limited && !slices.Contains(options, value.(string)):
			refuse(name, "must be one of "+strings.Join(options, ", "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := properties[name]; !known {
			refuse(name, "is not an argument of this tool")
		}
	}
	return fields
}

var jsonType = map[string]string{"string": "string", "bool": "boolean", "float64": "number"}
