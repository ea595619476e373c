//! Readers share, writers exclude, and a writer may downgrade.
//!
//!     cargo run -p zkrecipes --example read_write_lock [zk1:2181]

use zkrecipes::{Client, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let hosts = std::env::args().nth(1).unwrap_or_else(|| "embedded:".to_owned());
    let client = Client::connect(&hosts, Default::default()).await?;

    let catalogue = client.read_write_lock("/examples/catalogue")?;
    let writing = catalogue.write().acquire().await?;
    println!("writing, with fencing token {}", writing.fencing_token());
    let reading = writing.downgrade().await?;
    println!("still reading what was written, and nobody got in between: {}", reading.is_held());
    reading.release().await?;

    client.close(None).await
}
