//! Several locks as one: all or none.
//!
//!     cargo run -p zkrecipes --example multi_lock [zk1:2181]

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let from = client.lock("/examples/accounts/alice", Default::default())?;
    let to = client.lock("/examples/accounts/bob", Default::default())?;
    let both = client.multi_lock(&[from, to])?;
    let held = both.acquire().await?;
    println!("{:?} are held, with tokens {:?}", both.paths(), held.fencing_tokens());
    held.release().await?;

    client.close(None).await
}
