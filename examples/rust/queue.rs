//! Work for whoever is free: what fails goes back, and what fails too often to the dead letters.
//!
//!     cargo run -p zkrecipes --example queue [zk1:2181]

use zkrecipes::{Client, QueueOptions, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let queue = client.queue("/examples/mail", QueueOptions::default().max_attempts(2))?;
    queue.put_many(&["alice@example.org", "nobody", "bob@example.org"]).await?;
    println!("{} items", queue.len().await?);

    while let Some(item) = queue.try_claim().await? {
        let address = String::from_utf8_lossy(item.data()).into_owned();
        if address.contains('@') {
            item.ack().await?;
            println!("sent to {address}");
        } else {
            println!("attempt {} with {address} failed", item.attempts());
            item.nack().await?;
        }
    }
    let dead = queue.dead().items().await?;
    println!("{} in the dead letters", dead.len());
    queue.dead().get().await?;

    client.close(None).await
}
