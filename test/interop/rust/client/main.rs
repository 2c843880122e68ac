//! Calls an agent with the Rust SDK: `client grpc|rest|jsonrpc CARD-URL OPERATION [ARGS]`.

mod operations;
mod report;

use std::env;
use std::sync::Arc;

use a2a::A2AError;
use a2a_client::agent_card::AgentCardResolver;
use a2a_client::{A2AClient, A2AClientFactory, Transport};
use a2a_grpc::GrpcTransportFactory;

use crate::report::Report;

pub type Client = A2AClient<Box<dyn Transport>>;

#[tokio::main]
async fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let report = run(&args).await.unwrap_or_else(Report::of_error);
    println!("{}", serde_json::json!(report));
}

async fn run(args: &[&str]) -> Result<Report, A2AError> {
    let (binding, card_url, operation) = match args {
        [binding, card_url, operation @ ..] => (*binding, *card_url, operation),
        _ => return Err(A2AError::invalid_params("client BINDING CARD-URL OPERATION [ARGS]")),
    };
    let client = open(binding, card_url).await?;
    match operation {
        ["send", text] => operations::send(&client, text, None).await,
        ["send", text, task, context] => operations::send(&client, text, Some((task, context))).await,
        ["stream", text] => operations::stream(&client, text).await,
        ["resume", text] => operations::resume(client, text, open(binding, card_url)).await,
        ["resume", text, other] => operations::resume(client, text, open(binding, other)).await,
        ["cancel"] => operations::cancel(&client).await,
        ["list", context] => operations::list(&client, context).await,
        ["push", task] => operations::push(&client, task).await,
        ["error"] => operations::error(&client).await,
        _ => Err(A2AError::invalid_params(format!("no such operation: {operation:?}"))),
    }
}

async fn open(binding: &str, card_url: &str) -> Result<Client, A2AError> {
    let base = card_url.trim_end_matches("/.well-known/agent-card.json");
    let mut card = AgentCardResolver::new(None).resolve(base).await?;
    let wanted = match binding {
        "grpc" => a2a::TRANSPORT_PROTOCOL_GRPC,
        "rest" => a2a::TRANSPORT_PROTOCOL_HTTP_JSON,
        _ => a2a::TRANSPORT_PROTOCOL_JSONRPC,
    };
    // A preference alone would fall back to another binding.
    card.supported_interfaces.retain(|interface| interface.protocol_binding == wanted);
    let factory = A2AClientFactory::builder().register(Arc::new(GrpcTransportFactory::new())).build();
    factory.create_from_card(&card).await
}
