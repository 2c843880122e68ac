//! Serves the word agent with the Rust SDK, over all three bindings.

mod agent;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use a2a::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::agent_card::agent_card_router;
use a2a_server::jsonrpc::jsonrpc_router;
use a2a_server::rest::rest_router;
use a2a_server::{DefaultRequestHandler, InMemoryPushConfigStore, InMemoryTaskStore, StaticAgentCard};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let web = TcpListener::bind("127.0.0.1:0").await?;
    let rpc = TcpListener::bind("127.0.0.1:0").await?;
    let (web_address, rpc_address) = (web.local_addr()?, rpc.local_addr()?);
    let handler = Arc::new(
        DefaultRequestHandler::new(agent::WordAgent, InMemoryTaskStore::new())
            .with_capabilities(capabilities())
            .with_push_config_store(InMemoryPushConfigStore::new()),
    );

    let routes = agent_card_router(Arc::new(StaticAgentCard::new(card(web_address, rpc_address))))
        .nest("/jsonrpc", jsonrpc_router(handler.clone()))
        .nest("/rest", rest_router(handler.clone()));
    tokio::spawn(async { axum::serve(web, routes).await });

    let service = A2aServiceServer::new(GrpcHandler::new(handler));
    let server = tonic::transport::Server::builder().add_service(service);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(rpc)));

    let places = serde_json::json!({
        "card": format!("http://{web_address}/.well-known/agent-card.json"),
        "grpc": rpc_address.to_string(),
    });
    println!("ready {places}");
    // The harness ends a server by closing its stdin.
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}

fn capabilities() -> AgentCapabilities {
    AgentCapabilities { streaming: Some(true), push_notifications: Some(true), ..Default::default() }
}

fn card(web: SocketAddr, rpc: SocketAddr) -> AgentCard {
    AgentCard {
        name: "Words".into(),
        description: "Does what the first word of a message says".into(),
        version: "1.0.0".into(),
        supported_interfaces: vec![
            AgentInterface::new(rpc.to_string(), a2a::TRANSPORT_PROTOCOL_GRPC),
            AgentInterface::new(format!("http://{web}/rest"), a2a::TRANSPORT_PROTOCOL_HTTP_JSON),
            AgentInterface::new(format!("http://{web}/jsonrpc"), a2a::TRANSPORT_PROTOCOL_JSONRPC),
        ],
        capabilities: capabilities(),
        default_input_modes: vec!["text/plain".into()],
        default_output_modes: vec!["text/plain".into()],
        skills: vec![AgentSkill {
            id: "words".into(),
            name: "Words".into(),
            description: "Does what a word says".into(),
            tags: vec!["test".into()],
            examples: None,
            input_modes: None,
            output_modes: None,
            security_requirements: None,
        }],
        provider: None,
        documentation_url: None,
        icon_url: None,
        security_schemes: None,
        security_requirements: None,
        signatures: None,
    }
}
