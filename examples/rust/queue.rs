//! Work for whoever is free: what fails steps aside, and what fails too often goes to the dead letters.
//!
//!     cargo run -p zkrecipes --example queue [zk1:2181]

use std::time::Duration;

use zkrecipes::{Client, Nack, PutOptions, QueueOptions, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let queue = client.queue("/examples/mail", QueueOptions::default().max_attempts(2))?;
    queue.put_many(&["alice@example.org", "nobody", "bob@example.org"]).await?;
    // A request that is made again, after whatever failed, puts nothing twice.
    for _ in 0..2 {
        queue.put_with(b"carol@example.org", PutOptions::default().key("request-1042")).await?;
    }
    println!("{} items", queue.len().await?);

    while queue.len().await? > 0 {
        let item = queue.claim().await?;
        let address = String::from_utf8_lossy(item.data()).into_owned();
        if address.contains('@') {
            item.ack().await?;
            println!("sent to {address}");
        } else {
            println!("attempt {} with {address} failed", item.attempts());
            item.nack_with(Nack::default().delay(Duration::from_millis(100)).reason("no such address"))
                .await?;
        }
    }
    let dead = queue.dead().items().await?;
    println!("{} in the dead letters", dead.len());
    for letter in &dead {
        println!("{}: {}", String::from_utf8_lossy(&letter.data), letter.reason.as_deref().unwrap_or("-"));
    }
    queue.dead().get().await?;

    client.close(None).await
}
