// The client speaks whichever era the server speaks, with go-sdk, and is driven by the line protocol of ../README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const modern = "2026-07-28"

type request struct {
	ID        int            `json:"id"`
	Op        string         `json:"op"`
	URL       string         `json:"url"`
	Token     string         `json:"token"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
	Request   int            `json:"request"`
}

var (
	version = flag.String("version", "", "protocol version to ask for; empty: the newest")
	signsIn = flag.Bool("sign-in", false, "let the SDK get tokens by itself")
	output  sync.Mutex
	calls   sync.Map // request id -> context.CancelFunc
	session *mcp.ClientSession
	changed func()
)

func say(message map[string]any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(string(line))
}

func event(id int, name string, params any) {
	say(map[string]any{"id": id, "event": name, "params": params})
}

func described(err error) map[string]any {
	var wire *jsonrpc.Error
	switch {
	case errors.Is(err, context.Canceled):
		return map[string]any{"cancelled": true}
	case errors.As(err, &wire):
		return map[string]any{"code": wire.Code, "message": wire.Message, "data": wire.Data}
	default:
		return map[string]any{"exception": fmt.Sprintf("%T", err), "message": err.Error()}
	}
}

// presenting is the token that goes with every request; empty: none.
type presenting string

func (token presenting) RoundTrip(req *http.Request) (*http.Response, error) {
	if token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+string(token))
	}
	return http.DefaultTransport.RoundTrip(req)
}

func connect(req request) (any, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "counterpart-go", Version: "1.0.0"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			if changed != nil {
				changed()
			}
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			event(req.ID, "log", r.Params)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			// The token is the id of the request that asked for the call.
			id, _ := r.Params.ProgressToken.(float64)
			event(int(id), "progress", map[string]any{
				"progress": r.Params.Progress, "total": r.Params.Total, "message": r.Params.Message,
			})
		},
	})
	handler, err := signingIn()
	if err != nil {
		return nil, err
	}
	session, err = client.Connect(
		context.Background(),
		&mcp.StreamableClientTransport{
			Endpoint:     req.URL,
			HTTPClient:   &http.Client{Transport: presenting(req.Token)},
			OAuthHandler: handler,
		},
		&mcp.ClientSessionOptions{ProtocolVersion: *version},
	)
	if err != nil {
		return nil, err
	}
	info := session.InitializeResult()
	if info.ProtocolVersion < modern && info.Capabilities.Logging != nil {
		if err := session.SetLoggingLevel(context.Background(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
			return nil, err
		}
	}
	return map[string]any{
		"version": info.ProtocolVersion, "serverInfo": info.ServerInfo, "capabilities": info.Capabilities,
	}, nil
}

func list() (any, error) {
	tools := []*mcp.Tool{}
	pages := 0
	params := &mcp.ListToolsParams{}
	for {
		page, err := session.ListTools(context.Background(), params)
		if err != nil {
			return nil, err
		}
		tools = append(tools, page.Tools...)
		pages++
		if page.NextCursor == "" {
			return map[string]any{"tools": tools, "pages": pages}, nil
		}
		params.Cursor = page.NextCursor
	}
}

func call(req request) (any, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	calls.Store(req.ID, cancel)
	defer calls.Delete(req.ID)
	params := &mcp.CallToolParams{Name: req.Name, Arguments: req.Arguments, Meta: mcp.Meta{}}
	if session.InitializeResult().ProtocolVersion >= modern {
		params.Meta[mcp.MetaKeyLogLevel] = "info"
	}
	params.SetProgressToken(req.ID)
	return session.CallTool(ctx, params)
}

func answer(req request) (any, error) {
	switch req.Op {
	case "connect":
		return connect(req)
	case "list":
		return list()
	case "call":
		return call(req)
	case "cancel":
		if cancel, ok := calls.Load(req.Request); ok {
			cancel.(context.CancelFunc)()
		}
		return map[string]any{}, nil
	case "listen":
		// The SDK has been listening since it connected.
		changed = func() { event(req.ID, "list_changed", map[string]any{}) }
		return map[string]any{}, nil
	case "close":
		changed = nil
		return map[string]any{}, session.Close()
	default:
		return nil, fmt.Errorf("unknown request: %s", req.Op)
	}
}

func main() {
	flag.Parse()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var req request
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			panic(err)
		}
		go func() {
			if result, err := answer(req); err != nil {
				say(map[string]any{"id": req.ID, "error": described(err)})
			} else {
				say(map[string]any{"id": req.ID, "result": result})
			}
		}()
	}
}
