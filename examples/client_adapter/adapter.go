// Lets the suite judge a client in Go: xmcp check client "go run examples/client_adapter/adapter.go".
//
// Copy this file, and put your client in the place of Client, which here talks to a model and knows no tools. The guide
// "Have a client judged" says what the messages are.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
)

type Message = map[string]any

type Server struct{ Name, URL string }

type Model struct {
	BaseURL string `json:"base_url"`
	Model   string `json:"model"`
	APIKey  string `json:"api_key"`
}

// Request is any command of the suite. Setup has the options that the application gives the client.
type Request struct {
	Command, Chat, Query string
	ID                   int
	Setup                map[string]any
	Models               []Model
	Servers              []Server
	History              []Message
	Tenant               *string
	Events               bool
}

// errRefused is wrapped by what start returns where the client does not start with these tools.
var errRefused = errors.New("refused")

// Client is what is judged.
type Client struct{ model Model }

func start(request Request) (*Client, error) { return &Client{request.Models[0]}, nil }

func (client *Client) chat(ctx context.Context, query string, history []Message) ([]Message, string, error) {
	messages := append(history, Message{"role": "user", "content": query})
	body, err := json.Marshal(map[string]any{"model": client.model.Model, "messages": messages})
	if err != nil {
		return history, "", err
	}
	request, err := http.NewRequestWithContext(ctx, "POST", client.model.BaseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return history, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+client.model.APIKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return messages, "", err
	}
	defer response.Body.Close()
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return messages, "", fmt.Errorf("the model answers %s: %v", response.Status, err)
	}
	text := answer.Choices[0].Message.Content
	return append(messages, Message{"role": "assistant", "content": text}), text, nil
}

func (client *Client) stop() {}

var writing sync.Mutex

// write writes a message at once: what a client tells has to arrive before what it does next.
func write(message map[string]any) {
	writing.Lock()
	defer writing.Unlock()
	line, _ := json.Marshal(message)
	os.Stdout.Write(append(line, '\n'))
}

// run runs a chat, and answers its request when it has ended.
func run(ctx context.Context, client *Client, request Request) {
	history, answer, err := client.chat(ctx, request.Query, request.History)
	message := map[string]any{"id": request.ID, "history": history}
	switch {
	case ctx.Err() != nil:
		message["failure"] = "cancelled"
	case err != nil:
		message["failure"], message["why"] = "provider", err.Error()
	default:
		message["result"] = map[string]any{"answer": answer, "stop_reason": "stop", "displays": []any{}}
	}
	write(message)
}

func main() {
	var client *Client
	cancels := map[string]context.CancelFunc{}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end of the input
			return
		}
		var request Request
		if err := json.Unmarshal(line, &request); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer := map[string]any{"id": request.ID}
		switch request.Command {
		case "hello": // features are what the client has, of those in the guide
			answer["protocol"], answer["name"] = 1, "mine 0.3"
			answer["features"], answer["fixed"] = []string{"cancellation"}, map[string]any{"display": "continue"}
		case "start":
			if client, err = start(request); errors.Is(err, errRefused) {
				answer["refused"] = err.Error()
			} else if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		case "chat":
			ctx, cancel := context.WithCancel(context.Background())
			cancels[request.Chat] = cancel
			go run(ctx, client, request)
			continue
		case "cancel":
			cancels[request.Chat]()
			continue
		case "stop":
			client.stop()
			cancels = map[string]context.CancelFunc{}
		}
		write(answer)
	}
}
