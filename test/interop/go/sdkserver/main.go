// Command sdkserver serves the word agent with the Go SDK, over all three bindings.
package main

import (
	"context"
	"log"
	"net"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc"

	"throughline/interop/program"
)

func main() {
	web, rpc := program.Listen(), program.Listen()
	card := describe(web.Addr(), rpc.Addr())
	// It lists tasks only for callers that have a name.
	store := taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: func(context.Context) (string, error) { return "anyone", nil }})
	handler := a2asrv.NewHandler(wordAgent{},
		a2asrv.WithTaskStore(store),
		a2asrv.WithCapabilityChecks(&card.Capabilities),
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)))

	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	mux.Handle("/jsonrpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	go func() { log.Fatal(http.Serve(web, mux)) }()

	server := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(server)
	go func() { log.Fatal(server.Serve(rpc)) }()

	program.Ready("http://"+web.Addr().String()+a2asrv.WellKnownAgentCardPath, rpc.Addr().String())
}

func describe(web, rpc net.Addr) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name:        "Words",
		Description: "Does what the first word of a message says",
		Version:     "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(rpc.String(), a2a.TransportProtocolGRPC),
			a2a.NewAgentInterface("http://"+web.String()+"/rest", a2a.TransportProtocolHTTPJSON),
			a2a.NewAgentInterface("http://"+web.String()+"/jsonrpc", a2a.TransportProtocolJSONRPC),
		},
		Capabilities:       a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{{ID: "words", Name: "Words", Description: "Does what a word says", Tags: []string{"test"}}},
	}
}
