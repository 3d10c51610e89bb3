// MCP over stdio, in both eras, on the standard library. A server on an SDK does not need this file.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"os"
	"slices"
)

func listed() object {
	list := []object{}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		tool := tools[name]
		list = append(list, object{
			"name":        name,
			"description": tool.Description,
			"inputSchema": tool.Input,
			"annotations": object{"readOnlyHint": true},
			"_meta":       object{prefix + "tool": object{"display": tool.Display}},
		})
	}
	return object{"tools": list, "ttlMs": 0, "cacheScope": "private"}
}

type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name            string
		Arguments       object
		ProtocolVersion string
	}
}

// respond returns a result, or nil for a method that this server does not have.
func respond(asked request) object {
	offered := func(where string) object { return object{"tools": object{}, where: announced} }
	info := object{"name": "shop", "version": "1.0.0"}
	switch asked.Method {
	case "initialize":
		return object{"protocolVersion": "2025-11-25", "capabilities": offered("experimental"), "serverInfo": info}
	case "server/discover":
		versions := []string{"2026-07-28"}
		return object{"supportedVersions": versions, "capabilities": offered("extensions"), "ttlMs": 0, "cacheScope": "private"}
	case "tools/list":
		return listed()
	case "tools/call":
		given := asked.Params.Arguments
		if given == nil {
			given = object{}
		}
		return answer(asked.Params.Name, given)
	case "ping":
		return object{}
	}
	return nil
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked request
		if err := in.Decode(&asked); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		reply := object{"jsonrpc": "2.0", "id": asked.ID}
		if result := respond(asked); result == nil {
			reply["error"] = object{"code": -32601, "message": "Method not found"}
		} else {
			result["resultType"] = "complete"
			reply["result"] = result
		}
		if asked.ID != nil { // a notification has none, and gets no answer
			out.Encode(reply)
		}
	}
}
