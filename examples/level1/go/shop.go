package main

import (
	"errors"
	"fmt"
)

var sold = map[any]int{"EMEA": 42, "APAC": 17}

var tools = map[string]Tool{
	"price": {
		Description: "Price of so many pieces of an article.",
		Input: schema(map[string]object{
			"article": {"type": "string"},
			"pieces":  {"type": "number"},
		}, "article", "pieces"),
		Run: func(given object) (string, object, error) {
			if given["article"] != "lamp" {
				message := fmt.Sprintf("There is no article %q.", given["article"])
				return "", nil, Failure{"NOT_FOUND", "not_found", message, nil}
			}
			return fmt.Sprintf("%v × lamp: %v €", given["pieces"], 19*given["pieces"].(float64)), nil, nil
		},
	},
	"sales": {
		Description: "Sales of a region. With show_user the person gets a table of them.",
		Display:     true,
		Input: schema(map[string]object{
			"region":    {"type": "string", "enum": []string{"EMEA", "APAC"}},
			"show_user": {"type": "boolean"},
		}, "region"),
		Run: func(given object) (string, object, error) {
			region := given["region"]
			text := fmt.Sprintf("%v sold %d units in May.", region, sold[region])
			if given["show_user"] != true {
				return text, nil, nil
			}
			rows := []object{{"region": region, "sold": sold[region]}}
			return text, object{"type": "table", "payload": rows, "alt": fmt.Sprintf("%d units in %v", sold[region], region)}, nil
		},
	},
	"stock": {
		Description: "Everything in stock. It always fails, unforeseen.",
		Input:       schema(map[string]object{}),
		Run: func(object) (string, object, error) {
			return "", nil, errors.New("/srv/shop/stock.db is locked") // for the log; the model gets an id in its place
		},
	},
}

func schema(properties map[string]object, required ...string) object {
	given := append([]string{}, required...) // never null in JSON
	return object{"type": "object", "properties": properties, "required": given, "additionalProperties": false}
}
