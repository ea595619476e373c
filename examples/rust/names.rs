//! What a name stands for: one process binds it, others look it up and follow it.
//!
//!     cargo run -p zkrecipes --example names [zk1:2181]

use zkrecipes::{Client, ErrorKind, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let services = client.names("/examples/services")?;
    // For as long as this client lives, over all its sessions.
    services.bind("billing", b"10.0.0.7:443", true).await?;
    match services.bind("billing", b"10.0.0.8:443", true).await {
        Err(error) if error.kind() == ErrorKind::Exists => println!("one binding at a time"),
        other => println!("{other:?}"),
    }
    let mut changes = services.watch();
    if let Some(now) = changes.next().await.transpose()? {
        println!("billing is at {}", String::from_utf8_lossy(&now["billing"]));
    }
    services.unbind("billing").await?;
    println!("now it is at {:?}", services.lookup("billing").await?);

    client.close(None).await
}
