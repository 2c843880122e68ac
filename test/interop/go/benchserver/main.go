// Command benchserver serves the bench agent with the Go SDK, over all three bindings. It says where on one line, and ends with its stdin.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc"

	"throughline/interop/program"
)

func main() {
	web, rpc := program.Listen(), program.Listen()
	// It lists tasks only for callers that have a name.
	store := taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: func(context.Context) (string, error) { return "anyone", nil }})
	handler := a2asrv.NewHandler(benchAgent{}, a2asrv.WithTaskStore(store))

	mux := http.NewServeMux()
	mux.Handle("/jsonrpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	go func() { log.Fatal(http.Serve(web, mux)) }()

	server := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(server)
	go func() { log.Fatal(server.Serve(rpc)) }()

	origin := "http://" + web.Addr().String()
	line, _ := json.Marshal(map[string]string{"grpc": rpc.Addr().String(), "rest": origin + "/rest", "jsonrpc": origin + "/jsonrpc"})
	fmt.Printf("ready %s\n", line)
	answer(os.Stdin)
}
