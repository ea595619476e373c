//! Two sites pay together or not at all.
//!
//!     cargo run -p zkrecipes --example two_phase_commit [zk1:2181]

use std::time::Duration;

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let bank = tokio::spawn(site(client.clone(), "bank"));
    let shop = tokio::spawn(site(client.clone(), "shop"));
    let payments = client.two_phase_commit("/examples/payments", Default::default())?;
    let limit = Duration::from_secs(30);
    let payment = payments.begin("p-4711", &["bank", "shop"], b"100 EUR", limit).await?;
    println!("decided: {}", payment.outcome(None).await?.name());
    bank.await.expect("no panic")?;
    shop.await.expect("no panic")?;

    client.close(None).await
}

async fn site(client: Client, name: &str) -> Result<()> {
    let payments = client.two_phase_commit("/examples/payments", Default::default())?;
    payments.join(name).await?;
    let proposal = payments.next(None).await?;
    // A real site first writes down, on its own disk, all that it needs to commit whatever happens.
    println!("{name} is asked for {}", String::from_utf8_lossy(proposal.payload()));
    proposal.vote_commit().await?;
    println!("{name} does: {}", proposal.outcome(None).await?.name());
    proposal.acknowledge().await
}
