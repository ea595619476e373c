//! Three instances of a service, and somebody who calls them in turn and leaves out the one that does not answer.
//!
//!     cargo run -p zkrecipes --example discovery [zk1:2181]

use zkrecipes::{Client, PickBy, Result, Service};

fn call(uri: &str) -> std::result::Result<(), String> {
    match uri {
        "http://10.0.0.2:8080/hello" => Err(format!("{uri} does not answer")),
        uri => {
            println!("called {uri}");
            Ok(())
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let discovery = client.discovery("/examples/services")?;
    for address in ["10.0.0.1", "10.0.0.2", "10.0.0.3"] {
        let service =
            Service::new("hello", address).port(8080).uri_spec("{scheme}://{address}:{port}/{name}");
        // It is kept in every session, until it is unregistered or the client is closed.
        discovery.register(service).await?;
    }

    for _ in 0..6 {
        // Only the first one asks the server.
        let Some(instance) = discovery.pick("hello", PickBy::RoundRobin).await? else { break };
        if let Err(problem) = call(instance.uri.as_deref().unwrap_or_default()) {
            println!("{problem}; for a while others are picked");
            instance.failed();
        }
    }

    client.close(None).await
}
