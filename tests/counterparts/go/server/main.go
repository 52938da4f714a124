// The server on go-sdk. The SDK speaks the modern era only without sessions, so this is one or the other: modern (and
// legacy without sessions) as it is, legacy alone with -sessions.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pageSize is small, so that the catalogue takes several pages.
const pageSize = 5

var cancelled atomic.Int64

// counters holds how often each legacy session has called `counter`.
var counters sync.Map

func main() {
	port := flag.Int("port", 0, "0: any free port")
	sessions := flag.Bool("sessions", false, "keep sessions, and so speak the legacy era alone")
	flag.Parse()

	server := mcp.NewServer(
		&mcp.Implementation{Name: "counterpart-go", Version: "1.0.0"},
		&mcp.ServerOptions{PageSize: pageSize},
	)
	for _, tool := range catalogue() {
		if !*sessions && tool.Name == "counter" || *sessions && tool.Name == "routed" {
			continue
		}
		server.AddTool(tool, handler(server, tool.Name))
	}
	streamable := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		// Without this a Go server works on for a modern client that has gone.
		&mcp.StreamableHTTPOptions{Stateless: !*sessions, PropagateRequestCancellation: true},
	)
	http.Handle("/mcp", streamable)

	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	ready, _ := json.Marshal(map[string]string{"url": fmt.Sprintf("http://%s/mcp", listener.Addr())})
	fmt.Println(string(ready))
	// Ends with standard input, so that no counterpart outlives its test run.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.Serve(listener, nil))
}

// catalogue reads the definitions of tools.json. Schemas stay raw, so that they go out byte for byte.
func catalogue() []*mcp.Tool {
	program, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(program), "../../tests/counterparts/tools.json"))
	if err != nil {
		log.Fatal(err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		log.Fatal(err)
	}
	var tools []*mcp.Tool
	for _, definition := range raw {
		var tool mcp.Tool
		var schemas struct {
			InputSchema  json.RawMessage `json:"inputSchema"`
			OutputSchema json.RawMessage `json:"outputSchema"`
		}
		if err := json.Unmarshal(definition, &tool); err != nil {
			log.Fatal(err)
		}
		if err := json.Unmarshal(definition, &schemas); err != nil {
			log.Fatal(err)
		}
		tool.InputSchema = schemas.InputSchema
		if schemas.OutputSchema != nil {
			tool.OutputSchema = schemas.OutputSchema
		}
		tools = append(tools, &tool)
	}
	return tools
}

func text(value string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: value}}}
}

// arguments are those of all tools together; each tool reads its own.
type arguments struct {
	Text    string `json:"text"`
	A       int    `json:"a"`
	B       int    `json:"b"`
	Reason  string `json:"reason"`
	Steps   int    `json:"steps"`
	DelayMS int    `json:"delay_ms"`
	Name    string `json:"name"`
	Region  string `json:"region"`
}

func handler(server *mcp.Server, name string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args arguments
		if len(req.Params.Arguments) > 0 {
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
			}
		}
		switch name {
		case "echo":
			return text(args.Text), nil
		case "add":
			result := text(fmt.Sprint(args.A + args.B))
			result.StructuredContent = map[string]any{"sum": args.A + args.B}
			return result, nil
		case "fail":
			result := text(args.Reason)
			result.IsError = true
			return result, nil
		case "slow":
			return slow(ctx, req, args)
		case "cancelled_count":
			return text(fmt.Sprint(cancelled.Load())), nil
		case "counter":
			count, _ := counters.LoadOrStore(req.Session.ID(), new(atomic.Int64))
			return text(fmt.Sprint(count.(*atomic.Int64).Add(1))), nil
		case "grow":
			// The SDK tells every session and subscription by itself.
			server.AddTool(&mcp.Tool{
				Name:        args.Name,
				Description: "Added at run time.",
				InputSchema: json.RawMessage(`{"type":"object"}`),
			}, handler(server, args.Name))
			return text(args.Name), nil
		case "shrink":
			server.RemoveTools(args.Name)
			return text(args.Name), nil
		case "decorated":
			return decorated(), nil
		case "routed":
			result := text(args.Region)
			result.StructuredContent = req.Params.Arguments
			return result, nil
		default:
			return text(name), nil
		}
	}
}

func slow(ctx context.Context, req *mcp.CallToolRequest, args arguments) (*mcp.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	for step := 1; step <= args.Steps; step++ {
		select {
		case <-ctx.Done():
			cancelled.Add(1)
			return nil, ctx.Err()
		case <-time.After(time.Duration(args.DelayMS) * time.Millisecond):
		}
		if token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token,
				Progress:      float64(step),
				Total:         float64(args.Steps),
				Message:       fmt.Sprintf("step %d", step),
			})
		}
		_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{
			Level: "info", Logger: "slow", Data: map[string]any{"step": step},
		})
	}
	return text(fmt.Sprintf("%d steps", args.Steps)), nil
}

func decorated() *mcp.CallToolResult {
	size := int64(3)
	return &mcp.CallToolResult{
		Content: []mcp.Content{
			&mcp.TextContent{
				Text:        "one of each",
				Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5},
				Meta:        mcp.Meta{"a": 1},
			},
			&mcp.ImageContent{Data: []byte("\x89PNG\r\n\x1a\n"), MIMEType: "image/png"},
			&mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"},
			&mcp.EmbeddedResource{
				Resource: &mcp.ResourceContents{URI: "demo://text", MIMEType: "text/plain", Text: "embedded"},
			},
			&mcp.ResourceLink{Name: "link", URI: "demo://link", Description: "linked", Size: &size},
		},
		Meta: mcp.Meta{"example.com/trace": "abc"},
	}
}
